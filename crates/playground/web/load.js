// Reads scenes: out of the page itself, from a file beside it, or from a file that is dropped.

import { Scene } from './scene.js';

const MOST_SCENES = 2;

/** A story: its scenes, and the words above them. A scene alone is a story without words. */
export function readStory(json) {
  const { scenes, story = {} } = json?.scenes ? json : { scenes: [json] };
  const { name = '', title = '', about = '', promise = '', at = null, pages = [], speed = null } = story;
  if (scenes.length < 1 || scenes.length > MOST_SCENES) {
    throw new Error(`${scenes.length} scenes; a page shows 1 or ${MOST_SCENES}`);
  }
  const read = scenes.map((one, i) => {
    try {
      return new Scene(one);
    } catch (error) {
      throw new Error(`scene ${i + 1}: ${error.message}`);
    }
  });
  for (const scene of read) scene.promise = { at, pages: new Set(pages) };
  return { name, title, about, promise, at, speed, scenes: read };
}

function parseStory(text, name) {
  let json;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name} is no JSON: ${error.message}`);
  }
  try {
    return readStory(json);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

export const storyOfFile = async (file) => parseStory(await file.text(), file.name);

/** The story that the page brings along or names in its address; none if it has neither. */
export async function storyOfPage() {
  const inside = document.getElementById('scenes');
  if (inside) return parseStory(await textOf(inside), 'the story in this page');
  const name = new URLSearchParams(location.search).get('scenes');
  if (!name) return null;
  if (!/^[\w.-]+$/.test(name)) throw new Error(`scenes=${name}: allowed is a file of this folder, by its name alone`);
  const answer = await fetch(name).catch((error) => {
    throw new Error(`${name} cannot be read: ${error.message}. A page that is opened as a file may not read others: drop the file here, or serve the folder.`);
  });
  if (!answer.ok) {
    const names = [...document.querySelectorAll('#stories a[data-story]')].map(({ dataset }) => dataset.story);
    throw new Error(`${name} cannot be read: ${answer.status} ${answer.statusText}. Stories of this site: ${names.join(', ')}.`);
  }
  return parseStory(await answer.text(), name);
}

/** Text of an element, which may be packed. */
async function textOf(element) {
  if (element.dataset.encoding !== 'gzip-base64') return element.textContent;
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(plain).text();
}
