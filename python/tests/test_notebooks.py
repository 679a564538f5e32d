"""The notebooks run from the first cell to the last, and draw."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from conftest import full

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("ignore")
@full
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "notebooks are kept without what they print"
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    figures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert figures, "there is no figure"
    # To look at: DESTAGE_NOTEBOOKS names a folder for the notebooks with all that they showed.
    folder = os.environ.get("DESTAGE_NOTEBOOKS")
    if folder:
        nbformat.write(notebook, Path(folder) / path.name)


def test_the_first_figure_takes_five_cells():
    assert NOTEBOOKS[1].stem == "first_figure"
    cells = json.loads(NOTEBOOKS[1].read_text())["cells"]
    assert sum(cell["cell_type"] == "code" for cell in cells) == 5
