//! The rules of composition that need no run: X14, X11, X10 layer by layer, then the whole chain.

use super::parse::{RawLayer, RawParam};
use super::refusal::shorten;
use super::{Catalogue, Code, Expr, Given, value};
use crate::info::{Role, SchemeInfo};

/// A rule that is broken, and how.
pub type Broken = (Code, String);

/// A layer among those of a composition, from the outside in.
#[derive(Clone, Copy, Debug)]
pub struct Composition<'a> {
    layers: &'a [Expr],
    at: usize,
}

impl Composition<'_> {
    /// The layer itself. Layers are not nested yet, so defaults that depend on what is inside are not
    /// asked for.
    pub fn layer(&self) -> &Expr {
        &self.layers[self.at]
    }

    /// The layers outside this one, outermost first.
    pub fn outside(&self) -> &[Expr] {
        &self.layers[..self.at]
    }

    /// The policy inside all layers.
    pub fn policy(&self) -> &'static SchemeInfo {
        self.layers[self.layers.len() - 1].info
    }

    /// Is there a layer of this role?
    pub fn has(&self, role: Role) -> bool {
        self.layers.iter().any(|layer| layer.info.role == role)
    }
}

/// An expression as it is written, and the schemes that it may name.
#[derive(Clone, Copy)]
struct WrittenLayers<'a> {
    raw: &'a [RawLayer],
    catalogue: &'a Catalogue<'a>,
}

/// Names and parameters of every layer, from the outside in. Aliases and the default inner scheme
/// are written out.
///
/// # Errors
/// The first layer that is unknown (X14), has the wrong number of inner schemes (X11) or a
/// parameter that is unknown or out of range (X10).
pub(super) fn layers(raw: &[RawLayer], catalogue: &Catalogue<'_>) -> Result<Vec<Expr>, Broken> {
    layers_from(raw, 0, catalogue)
}

/// The same from layer `first` on.
fn layers_from(
    raw: &[RawLayer],
    first: usize,
    catalogue: &Catalogue<'_>,
) -> Result<Vec<Expr>, Broken> {
    let mut layers: Vec<Expr> = Vec::new();
    let mut next = Some(first);
    while let Some(at) = next {
        let layer = &raw[at];
        if let Some(names) = catalogue.alias(&layer.name) {
            check_alias(layer, names)?;
            let infos = names.iter().filter_map(|name| catalogue.find(name));
            layers.extend(infos.map(Expr::new));
            return Ok(layers);
        }
        let Some(info) = catalogue.find(&layer.name) else {
            let (name, near) = (shorten(&layer.name), catalogue.nearest(&layer.name));
            let why = format!("unknown scheme `{name}`, nearest is `{near}`");
            return Err((Code::Unknown, why));
        };
        check_arity(info, layer.inner.len())?;
        if first > 0 && !info.members.is_empty() {
            let why = format!("{0} stands inside {0}", info.name);
            return Err((Code::Duplicate, why));
        }
        let mut expr = Expr::new(info);
        expr.given = parameters(info, WrittenLayers { raw, catalogue }, layer)?;
        if let Some(check) = info.cross_check {
            check(&expr).map_err(|why| (Code::Param, why))?;
        }
        if !info.members.is_empty() {
            expr.members = members(info, raw, layer, catalogue)?;
            layers.push(expr);
            return Ok(layers);
        }
        layers.push(expr);
        next = layer.inner.first().copied();
        if next.is_none() && info.role.is_layer() {
            layers.extend(catalogue.find("lru").map(Expr::new));
        }
    }
    Ok(layers)
}

/// Most policies that one chooses among.
const MOST_MEMBERS: usize = 8;

/// The policies that `info` chooses among.
fn members(
    info: &SchemeInfo,
    raw: &[RawLayer],
    layer: &RawLayer,
    catalogue: &Catalogue<'_>,
) -> Result<Vec<Expr>, Broken> {
    if layer.inner.is_empty() {
        let defaults = info.members.iter().filter_map(|name| catalogue.find(name));
        return Ok(defaults.map(Expr::new).collect());
    }
    let mut members = Vec::new();
    for &at in &layer.inner {
        let mut layers = layers_from(raw, at, catalogue)?;
        let member = layers.swap_remove(0);
        may_be_member(info, member.info)?;
        members.push(member);
    }
    Ok(members)
}

fn may_be_member(info: &SchemeInfo, member: &SchemeInfo) -> Result<(), Broken> {
    let (outer, name) = (info.name, member.name);
    let (code, why) = match member.role {
        Role::None => (Code::NoCache, "no cache to manage".to_owned()),
        Role::Offline => (Code::Offline, "offline policy".to_owned()),
        Role::GroupPolicy => {
            let why = format!("{name} evicts groups of pages; {outer} chooses among page policies");
            (Code::RoleOrder, why)
        }
        role if role.is_layer() => {
            let why = format!("{name} is a layer; {outer} chooses among page policies");
            (Code::RoleOrder, why)
        }
        _ if member.chip_aware || member.write_backs.is_some() => {
            let why = format!("{name} asks the device; {outer} chooses among policies that do not");
            (Code::RoleOrder, why)
        }
        _ => return Ok(()),
    };
    Err((code, why))
}

fn check_alias(layer: &RawLayer, names: &[&str]) -> Result<(), Broken> {
    if layer.inner.is_empty() && layer.params.is_empty() {
        return Ok(());
    }
    let written = names.join("(") + &")".repeat(names.len() - 1);
    let why = format!(
        "{} is an alias and takes no arguments; write {written} with them",
        layer.name
    );
    Err((Code::Arity, why))
}

fn check_arity(info: &SchemeInfo, given: usize) -> Result<(), Broken> {
    if !info.members.is_empty() {
        return match given {
            0 | 2..=MOST_MEMBERS => Ok(()),
            _ => Err((
                Code::Arity,
                format!(
                    "{} takes 2 to {MOST_MEMBERS} policies, not {given}",
                    info.name
                ),
            )),
        };
    }
    match (info.role.is_layer(), given) {
        (false, 1..) => Err((Code::Arity, format!("{} takes no inner scheme", info.name))),
        (true, 2..) => Err((
            Code::Arity,
            format!("{} takes one inner scheme, not {given}", info.name),
        )),
        _ => Ok(()),
    }
}

fn parameters(
    info: &'static SchemeInfo,
    all: WrittenLayers<'_>,
    layer: &RawLayer,
) -> Result<Vec<Given>, Broken> {
    let mut given: Vec<Given> = Vec::new();
    for param in &layer.params {
        let one = parameter(info, all, layer, param).map_err(|why| (Code::Param, why))?;
        if given.iter().any(|g| g.key == one.key) {
            let why = format!("parameter `{}` is given twice", one.key);
            return Err((Code::Param, why));
        }
        given.push(one);
    }
    given.sort_by_key(|g| g.key);
    Ok(given)
}

fn parameter(
    info: &'static SchemeInfo,
    all: WrittenLayers<'_>,
    layer: &RawLayer,
    written: &RawParam,
) -> Result<Given, String> {
    let (prefix, key) = match written.key.split_once('.') {
        Some((prefix, key)) => (Some(prefix), key),
        None => (None, written.key.as_str()),
    };
    if let Some(prefix) = prefix.filter(|prefix| *prefix != info.name) {
        return Err(format!(
            "unknown parameter `{}`: the prefix `{}` names another layer than {}",
            shorten(&written.key),
            shorten(prefix),
            info.name,
        ));
    }
    let Some(param) = info.param(key) else {
        return Err(unknown_parameter(info, all, layer, key));
    };
    Ok(Given {
        key: param.key,
        value: value::resolve(param, &written.value)?,
    })
}

fn unknown_parameter(
    info: &'static SchemeInfo,
    all: WrittenLayers<'_>,
    layer: &RawLayer,
    key: &str,
) -> String {
    let shown = shorten(key);
    let mut why = format!("unknown parameter `{shown}` of {}", info.name);
    if let Some(owner) = inner_owner(all, layer, key) {
        why += &format!("; it belongs to {owner}: write it as {owner}({shown}=...)");
        return why;
    }
    let keys: Vec<&str> = info.params().map(|p| p.key).collect();
    match destage_types::nearest(key, keys.iter().copied()) {
        Some(near) => why += &format!(", nearest is `{near}`; known: {}", keys.join(", ")),
        None => why += &format!(": {} takes no parameters", info.name),
    }
    why
}

/// The nearest layer further in that declares `key`: a parameter written one parenthesis too far
/// out is the common mistake.
fn inner_owner(all: WrittenLayers<'_>, layer: &RawLayer, key: &str) -> Option<&'static str> {
    let mut at = layer.inner.first().copied();
    // Legal compositions have six layers.
    for _ in 0..6 {
        let inner = &all.raw[at?];
        if let Some(info) = all
            .catalogue
            .find(&inner.name)
            .filter(|info| info.param(key).is_some())
        {
            return Some(info.name);
        }
        at = inner.inner.first().copied();
    }
    None
}

/// The rules between layers, `layers` from the outside in.
///
/// # Errors
/// The first broken rule of X4, X5, X2 (neighbours), X2 and X1, X15, X12, X6.
pub(super) fn chain(layers: &[Expr]) -> Result<(), Broken> {
    let infos: Vec<&'static SchemeInfo> = layers.iter().map(|layer| layer.info).collect();
    policy_inside_layers(&infos)?;
    for pair in infos.windows(2) {
        if let Some(role) = shared_role(pair[0], pair[1]) {
            return Err(duplicate(role));
        }
    }
    role_order(&infos)?;
    orders(layers)?;
    for (at, info) in infos.iter().enumerate() {
        (info.refuse_composition)(&Composition { layers, at })?;
    }
    renames(&infos)
}

fn policy_inside_layers(infos: &[&SchemeInfo]) -> Result<(), Broken> {
    let inside_a_layer = |role: Role| infos.len() > 1 && infos.iter().any(|info| info.role == role);
    if inside_a_layer(Role::None) {
        return Err((Code::NoCache, "no cache to manage".to_owned()));
    }
    if inside_a_layer(Role::Offline) {
        return Err((Code::Offline, "offline policy".to_owned()));
    }
    Ok(())
}

/// The role two layers compete for. A policy with a background layer of its own fills B too. Of two
/// victim filters one may choose the chip and the other among the pages of all chips.
fn shared_role(outer: &SchemeInfo, inner: &SchemeInfo) -> Option<Role> {
    let fills = |info: &SchemeInfo, role: Role| {
        info.role == role || (info.write_backs.is_some() && role == Role::Background)
    };
    let both = outer.role == Role::VictimFilter && outer.chip_lists != inner.chip_lists;
    let is_layer = outer.role.is_layer();
    (is_layer && fills(inner, outer.role) && !both).then_some(outer.role)
}

/// Must `inner` stand outside `outer`? All pages of a chip wait for the same queue, so what chooses by
/// the state of chips has no choice inside what keeps pages by chip.
fn is_out_of_order(outer: &SchemeInfo, inner: &SchemeInfo) -> bool {
    let no_choice = inner.role == outer.role && outer.chip_lists;
    inner.role < outer.role || (inner.role == Role::VictimFilter && no_choice)
}

fn duplicate(role: Role) -> Broken {
    (Code::Duplicate, format!("two {} layers", role.name()))
}

fn role_order(infos: &[&SchemeInfo]) -> Result<(), Broken> {
    for (at, inner) in infos.iter().enumerate().skip(1) {
        let outside = &infos[..at];
        if let Some(role) = outside.iter().find_map(|outer| shared_role(outer, inner)) {
            return Err(duplicate(role));
        }
        let outer = outside[at - 1];
        if is_out_of_order(outer, inner) {
            let why = format!("{} must be outside {}", inner.name, outer.name);
            return Err((Code::RoleOrder, why));
        }
    }
    Ok(())
}

/// A layer that asks for the order of victims needs a policy that has one; for background work the
/// group that leaves next does. A policy that chooses by chip as `ecr` does cannot be split by chip
/// once more.
fn orders(layers: &[Expr]) -> Result<(), Broken> {
    let policy = layers[layers.len() - 1].info;
    let broken = |why: String| Err((Code::Candidates, why));
    for (at, layer) in layers.iter().enumerate() {
        if layer.info.role.is_layer() && layer.info.chip_lists && policy.chip_lists {
            return broken(format!(
                "{} is a variant of {} and cannot be split by chip again",
                policy.name, layer.info.name
            ));
        }
        let groups = policy.role == Role::GroupPolicy && layer.info.role == Role::Background;
        let ordered = policy.order.is_some() || groups;
        if !ordered && (layer.info.needs_order)(&Composition { layers, at }) {
            return broken(format!("{} has no candidate order", policy.name));
        }
    }
    Ok(())
}

fn renames(infos: &[&SchemeInfo]) -> Result<(), Broken> {
    let mapped = infos[0].role == Role::Mapping;
    match infos.iter().find(|info| mapped && !info.renames) {
        Some(info) => Err((Code::Ghost, format!("{} cannot rename", info.name))),
        None => Ok(()),
    }
}
