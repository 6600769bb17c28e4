// Draws the graph in DATA (see html_drawing.cc): scopes open and close on click. Layers and orders were computed when
// the file was written; here boxes only get coordinates, which depend on what is open (Note [Drawing by scopes]).
'use strict';
const PAD = 16, HEADER = 26, GAP = {h: 22, v: 34, point: 9}, SIDE = 9, TURN = 16, CHAR = 0.61;
const B = DATA.boxes, SVG = 'http://www.w3.org/2000/svg';
const SCOPE = 0, BUNDLE = 1, NODE = 2;
const open = new Set([0]);
let picked = -1, insides = new Map(), view = {x: 0, y: 0, k: 1}, sceneSize = {w: 1, h: 1}, shown = new Map();

const $ = id => document.getElementById(id);
const grouped = n => n.toString().replace(/\B(?=(\d{3})+$)/g, ',');
const isNode = b => B.kind[b] === NODE;
const opOf = b => DATA.ops[B.op[b]];
const cut = (s, n) => s.length <= n ? s : s.slice(0, n - 1 - ((n - 1) >> 1)) + '…' + s.slice(s.length - ((n - 1) >> 1));

function depthOf(b) {
  let d = 0;
  for (; b > 0; b = B.parent[b]) d++;
  return d;
}
function outermost(b) {
  while (B.parent[b] > 0) b = B.parent[b];
  return b;
}
function pathOf(b) {
  const parts = [];
  for (; b > 0; b = B.parent[b]) if (B.kind[b] !== BUNDLE) parts.push(B.label[b]);
  return parts.reverse().join('/');
}

// What to call a box that is pointed at; bundles have no path of their own.
const nameOf = b => B.kind[b] === BUNDLE ? B.label[b] : pathOf(b);

// --- Coordinates: the steps of item_placement.cc ---
function placeItems(scope, sizes) {
  const layers = scope.layers, n = scope.items.length;
  const x = [], width = [], above = [], below = [], layerOf = [];
  layers.forEach((layer, r) => layer.forEach(i => { layerOf[i] = r; }));
  layerOf.forEach((_, i) => { width[i] = i < n ? sizes[i].w : 0; above[i] = []; below[i] = []; });
  const link = (a, b) => {
    const points = (a >= n) + (b >= n), weight = points === 2 ? 8 : points === 1 ? 2 : 1;
    if (layerOf[a] > layerOf[b]) [a, b] = [b, a];
    below[a].push([b, weight]);
    above[b].push([a, weight]);
  };
  for (const [from, to, , , points] of scope.edges) {
    let last = from;
    for (const p of points) { link(last, p); last = p; }
    link(last, to);
  }
  const distance = (a, b) => (width[a] + width[b]) / 2 + (a >= n || b >= n ? GAP.point : GAP.h);
  for (const layer of layers) {
    let at = 0;
    layer.forEach((item, i) => { if (i) at += distance(layer[i - 1], item); x[item] = at; });
    layer.forEach(item => { x[item] -= at / 2; });
  }
  const wanted = (item, down) => {
    const first = down ? above[item] : below[item];
    const pulls = first.length ? first : down ? below[item] : above[item];
    if (!pulls.length) return [x[item], 0.1];
    let sum = 0, weight = 0;
    for (const [other, w] of pulls) { sum += x[other] * w; weight += w; }
    return [sum / weight, weight];
  };
  const moveLayer = (layer, down) => {
    const pools = [], offset = [];
    layer.forEach((item, i) => {
      offset[i] = i ? offset[i - 1] + distance(layer[i - 1], item) : 0;
      const [want, weight] = wanted(item, down);
      pools.push({sum: (want - offset[i]) * weight, weight, count: 1});
      while (pools.length > 1) {
        const last = pools[pools.length - 1], prev = pools[pools.length - 2];
        if (prev.sum / prev.weight <= last.sum / last.weight) break;
        pools.pop();
        prev.sum += last.sum; prev.weight += last.weight; prev.count += last.count;
      }
    });
    let i = 0;
    for (const pool of pools) for (let k = 0; k < pool.count; k++, i++) x[layer[i]] = pool.sum / pool.weight + offset[i];
  };
  for (let sweep = 0; sweep < 10; sweep++) {
    const down = sweep % 2 === 0;
    layers.forEach((_, i) => moveLayer(layers[down ? i : layers.length - 1 - i], down));
  }
  const y = [], tops = [], bottoms = [];
  let top = 0;
  for (const layer of layers) {
    const height = Math.max(0, ...layer.map(i => i < n ? sizes[i].h : 0));
    layer.forEach(i => {
      const own = i < n ? sizes[i].h : height;
      y[i] = top + own / 2 + Math.min((height - own) / 2, GAP.v);
    });
    tops.push(top);
    bottoms.push(top + height);
    top += height + GAP.v;
  }
  let left = Infinity, right = -Infinity;
  x.forEach((v, i) => { left = Math.min(left, v - width[i] / 2); right = Math.max(right, v + width[i] / 2); });
  if (!x.length) left = right = 0;
  return {x: x.map(v => v - left), y, tops, bottoms, layerOf, w: right - left, h: layers.length ? top - GAP.v : 0};
}

// --- Scene ---
function lookOf(b) {
  const title = cut(B.label[b], 30);
  let sub = grouped(B.count[b]) + (B.count[b] === 1 ? ' node' : ' nodes');
  if (isNode(b)) sub = cut(opOf(b) + (B.out[b] ? ' ' + DATA.texts[B.out[b]] : ''), 36);
  const weights = DATA.texts[B.weights[b]];
  const w = Math.max(64, title.length * CHAR * 12 + 24, Math.max(sub.length, weights.length) * CHAR * 10 + 24);
  return {title, sub, weights, w, h: weights ? 51 : 38};
}
const topOf = inside => inside.top.size ? 0 : inside.b === 0 ? PAD : HEADER;

function layOut(b) {
  const scope = DATA.scopes[b];
  const sizes = scope.items.map((child, i) => {
    if (scope.pins[i]) return {w: 0, h: 0};
    return open.has(child) ? layOut(child) : lookOf(child);
  });
  const p = placeItems(scope, sizes), top = new Map(), bottom = new Map();
  scope.items.forEach((child, i) => {
    if (scope.pins[i] === 1) top.set(child, p.x[i] + PAD);
    if (scope.pins[i] === 2) bottom.set(child, p.x[i] + PAD);
  });
  const inside = {b, scope, p, sizes, top, bottom, w: Math.max(60, p.w + 2 * PAD)};
  inside.h = topOf(inside) + p.h + (bottom.size ? 0 : PAD);
  insides.set(b, inside);
  return inside;
}

function place(b, x, y, w, h) {
  shown.set(b, {b, x, y, w, h, open: open.has(b)});
  if (!open.has(b)) return;
  const {scope, p, sizes} = insides.get(b), top = y + topOf(insides.get(b));
  scope.items.forEach((child, i) => {
    if (scope.pins[i]) return;
    const s = sizes[i];
    place(child, x + PAD + p.x[i] - s.w / 2, top + p.y[i] - s.h / 2, s.w, s.h);
  });
}

// --- Edges: the shapes of scene.cc ---
const f = v => v.toFixed(1);
const move = p => `M${f(p.x)},${f(p.y)}`, line = p => `L${f(p.x)},${f(p.y)}`;
const curve = (a, b) => { const m = (a.y + b.y) / 2; return `C${f(a.x)},${f(m)} ${f(b.x)},${f(m)} ${f(b.x)},${f(b.y)}`; };
const turn = (a, b, d) => `C${f(a.x)},${f(a.y + d)} ${f(b.x)},${f(b.y + d)} ${f(b.x)},${f(b.y)}`;

function endsAt(b, inside, atTop) {
  const s = shown.get(b), y = atTop ? s.y : s.y + s.h, ends = [];
  if (s.open) {
    const ports = atTop ? insides.get(b).top : insides.get(b).bottom;
    for (const child of inside) if (ports.has(child)) ends.push({x: s.x + ports.get(child), y});
  }
  return ends.length ? ends : [{x: s.x + s.w / 2, y}];
}
// Edges leave and enter straight through the layers of their boxes, of which other boxes may be higher.
function pathDown(boxStarts, boxEnds, startY, endY, way) {
  const starts = boxStarts.map(s => ({x: s.x, y: Math.max(s.y, startY)})), ends = boxEnds.map(e => ({x: e.x, y: Math.min(e.y, endY)}));
  const stubs = (from, to) => from.map((p, i) => p.y === to[i].y ? '' : move(p) + line(to[i])).join('');
  const last = stubs(ends, boxEnds);  // Where the arrow head is.
  if (!way.length && starts.length > 1 && ends.length > 1) {
    const mean = list => list.reduce((sum, p) => sum + p.x, 0) / list.length;
    way = [{x: (mean(starts) + mean(ends)) / 2, y: (starts[0].y + ends[0].y) / 2}];
  }
  let d = stubs(boxStarts, starts);
  if (!way.length) {
    for (const s of starts) for (const e of ends) d += move(s) + curve(s, e);
    return d + last;
  }
  for (const s of starts) d += move(s) + curve(s, way[0]);
  d += move(way[0]);
  for (let i = 1; i < way.length; i++) d += i % 2 ? line(way[i]) : curve(way[i - 1], way[i]);
  for (const e of ends) d += move(way[way.length - 1]) + curve(way[way.length - 1], e);
  return d + last;
}
function pathUp(from, to, starts, ends, way) {
  const side = from.x + from.w + SIDE, toSide = to.x + to.w + SIDE;
  const leave = {x: side, y: from.y + from.h}, arrive = {x: toSide, y: to.y};
  let d = '', last = {x: side, y: from.y};
  for (const s of starts) d += move(s) + turn(s, leave, TURN);
  d += move(leave) + line(last);
  way.forEach((p, i) => { d += i % 2 ? line(p) : curve(last, p); last = p; });
  d += curve(last, {x: toSide, y: to.y + to.h}) + line(arrive);
  for (const e of ends) d += move(arrive) + turn(arrive, e, -TURN);
  return d;
}
function edgePaths(b, lit) {
  const {scope, p} = insides.get(b), here = shown.get(b), left = here.x + PAD, top = here.y + topOf(insides.get(b)), out = [];
  for (const [from, to, count, flags, points, fromInside, toInside] of scope.edges) {
    const a = scope.pins[from] ? -1 : scope.items[from], z = scope.pins[to] ? -1 : scope.items[to], up = flags & 2, loop = flags & 4;
    const starts = a >= 0 ? endsAt(a, fromInside, false) : [{x: left + p.x[from], y: here.y}];
    const ends = z >= 0 ? endsAt(z, toInside, true) : [{x: left + p.x[to], y: here.y + here.h}];
    const startY = a >= 0 ? top + p.bottoms[p.layerOf[from]] : here.y, endY = z >= 0 ? top + p.tops[p.layerOf[to]] : here.y + here.h;
    const way = [];
    for (const i of points) {
      const above = {x: left + p.x[i], y: top + p.tops[p.layerOf[i]]};
      const below = {x: above.x, y: top + p.bottoms[p.layerOf[i]]};
      way.push(...(up ? [below, above] : [above, below]));
    }
    const isLit = lit.has(`${b},${a},${z}`), headed = z >= 0 && !shown.get(z).open;
    const d = up ? pathUp(shown.get(a), shown.get(z), starts, ends, way) : pathDown(starts, ends, startY, endY, way);
    const mark = isLit ? 'lit' : loop ? 'up' : 'edge';
    out.push({lit: isLit, html: `<path class="e${flags & 1 ? ' ctl' : ''}${loop ? ' up' : ''}${isLit ? ' lit' : ''}"` +
      ` stroke-width="${count > 1 ? 1.6 : 1}"${headed ? ` marker-end="url(#m-${mark})"` : ''} d="${d}"/>`});
  }
  return out;
}

// The parts of drawn edges, "scope,from,to", that the edges of node `b` consist of.
function litParts(b) {
  const lit = new Set();
  if (b < 0 || !isNode(b)) return lit;
  const add = (from, to) => {
    if (from === to) return;
    let df = depthOf(from), dt = depthOf(to);
    while (B.parent[from] !== B.parent[to]) {
      const climbFrom = df >= dt, climbTo = dt >= df;
      if (climbFrom) { lit.add(`${B.parent[from]},${from},-1`); from = B.parent[from]; df--; }
      if (climbTo) { lit.add(`${B.parent[to]},-1,${to}`); to = B.parent[to]; dt--; }
    }
    if (from !== to) lit.add(`${B.parent[from]},${from},${to}`);
  };
  for (const [source] of DATA.inputs[b] || []) if (source >= 0) add(source, b);
  for (const user of consumers()[b] || []) add(b, user);
  return lit;
}
let users = null;
function consumers() {
  if (users) return users;
  users = {};
  for (const b in DATA.inputs) {
    for (const [source] of DATA.inputs[b]) {
      if (source < 0) continue;
      const list = users[source] = users[source] || [];
      if (list[list.length - 1] !== +b) list.push(+b);
    }
  }
  return users;
}

// --- Rendering ---
const esc = s => s.replace(/[&<>"]/g, c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'}[c]));
function boxHtml(s) {
  const names = [s.b === picked && 'picked', B.gradient[s.b] && 'grad'].filter(Boolean).join(' ');
  const cls = names ? ` class="${names}"` : '', rect = `x="${f(s.x)}" y="${f(s.y)}" width="${f(s.w)}" height="${f(s.h)}"`;
  if (s.open) {
    if (s.b === 0) return '';
    return `<g${cls}><rect class="open" ${rect} rx="8"/><rect class="bar" data-b="${s.b}" x="${f(s.x)}" y="${f(s.y)}"` +
      ` width="${f(s.w)}" height="22"><title>close ${esc(nameOf(s.b))}</title></rect></g>`;
  }
  const look = lookOf(s.b), cx = f(s.x + s.w / 2 + 2), node = isNode(s.b);
  let html = `<g${cls}>`;
  if (!node) html += `<rect class="closed" x="${f(s.x + 3)}" y="${f(s.y + 3)}" width="${f(s.w)}" height="${f(s.h)}" rx="6"/>`;
  html += `<rect class="${node ? 'node' : 'closed'}" data-b="${s.b}" ${rect} rx="6"><title>${esc(nameOf(s.b))}</title></rect>`;
  if (node) {
    const color = DATA.families[DATA.familyOfOp[B.op[s.b]]][1];
    html += `<rect fill="${color}" x="${f(s.x + 3)}" y="${f(s.y + 5)}" width="4" height="${f(s.h - 10)}" rx="2"/>`;
  }
  for (let i = 0; i < Math.min(4, B.folded[s.b] || 0); i++) html += `<circle class="k" cx="${f(s.x + s.w - 8 - 6 * i)}" cy="${f(s.y + 7)}" r="2"/>`;
  return html + `<text class="t" x="${cx}" y="${f(s.y + 16)}">${esc(look.title)}</text>` +
    `<text class="s" x="${cx}" y="${f(s.y + 30)}">${node ? '' : '+ '}${esc(look.sub)}</text>` +
    (look.weights ? `<text class="s w" x="${cx}" y="${f(s.y + 43)}">${esc(look.weights)}</text></g>` : '</g>');
}
// Over the edges, which end at the upper border.
function labelHtml(s) {
  if (s.b === 0) return '';
  const label = esc(cut(B.label[s.b], Math.max(4, Math.floor((s.w - 40) / (11 * CHAR)))));
  return `<text class="o" x="${f(s.x + 9)}" y="${f(s.y + 17)}">− ${label}</text>`;
}
function render() {
  insides = new Map();
  shown = new Map();
  const root = layOut(0);
  sceneSize = {w: root.w, h: root.h};
  place(0, 0, 0, root.w, root.h);
  const lit = litParts(picked), all = [...shown.values()];
  const paths = all.filter(s => s.open).flatMap(s => edgePaths(s.b, lit));
  const opened = all.filter(s => s.open);
  $('scene').innerHTML = opened.map(boxHtml).join('') +
    paths.filter(p => !p.lit).map(p => p.html).join('') + paths.filter(p => p.lit).map(p => p.html).join('') +
    opened.map(labelHtml).join('') + all.filter(s => !s.open).map(boxHtml).join('');
}
function applyView() { $('scene').setAttribute('transform', `translate(${view.x},${view.y}) scale(${view.k})`); }
const READABLE = 0.55, LEGEND = 50, FEWEST = 8;
// Shows the whole drawing; with `readable` not smaller than its texts can be read, if it is only too high: then its
// upper part, over its whole width.
function fit(readable) {
  const r = $('canvas').getBoundingClientRect();
  const wide = (r.width - 40) / sceneSize.w, high = (r.height - 20 - LEGEND) / sceneSize.h;
  view.k = Math.min(1.4, wide, readable ? Math.max(high, READABLE) : high);
  view.x = (r.width - sceneSize.w * view.k) / 2;
  view.y = Math.max(20, (r.height - LEGEND - sceneSize.h * view.k) / 2);
  applyView();
}

// The first view: of the boxes that are open in it, the ones that make it larger than the window close again, the widest
// first, then the innermost. Where it is too high only, the outermost stay open, and all that would leave hardly a box.
function startView() {
  open.clear();
  DATA.open.forEach(b => open.add(b));
  picked = -1;
  render();
  const room = $('canvas').getBoundingClientRect(), width = (room.width - 40) / READABLE, height = (room.height - 20 - LEGEND) / READABLE;
  for (;;) {
    const inner = [...open].filter(b => b > 0 && !childrenOf(b).some(c => open.has(c)));
    const left = b => shown.size - open.size - childrenOf(b).length + 1;  // Boxes that are seen without those in it.
    const deep = inner.filter(b => depthOf(b) > 1 && left(b) >= FEWEST), higher = (a, b) => {
      const by = depthOf(b) - depthOf(a) || insides.get(b).h - insides.get(a).h;
      return by > 0 ? b : a;
    };
    if (sceneSize.w > width && inner.length) open.delete(inner.reduce((a, b) => insides.get(a).w >= insides.get(b).w ? a : b));
    else if (sceneSize.h > height && deep.length) open.delete(deep.reduce(higher));
    else break;
    render();
  }
  fit(true);
  showDetails(-1);
}

// --- Actions ---
// Opens or closes `b`; what the eye rests on stays where it is.
function toggle(b) {
  const before = shown.get(b);
  if (open.has(b)) open.delete(b);
  else open.add(b);
  let only = b;  // A box that holds one box and nothing else opens with it.
  while (open.has(only) && B.count[only] > 1 && childrenOf(only).length === 1 && !isNode(childrenOf(only)[0])) {
    only = childrenOf(only)[0];
    open.add(only);
  }
  render();
  const after = shown.get(b);
  if (before && after) {
    view.x += (before.x + before.w / 2 - after.x - after.w / 2) * view.k;
    view.y += (before.y - after.y) * view.k;
  }
  applyView();
}
const childrenOf = b => DATA.scopes[b].items.filter((_, i) => !DATA.scopes[b].pins[i]);
function reveal(b) {
  for (let p = B.parent[b]; p >= 0; p = B.parent[p]) open.add(p);
  pick(b);
  const s = shown.get(b), r = $('canvas').getBoundingClientRect();
  view.k = Math.max(view.k, 0.8);
  view.x = r.width / 2 - (s.x + s.w / 2) * view.k;
  view.y = r.height / 2 - (s.y + s.h / 2) * view.k;
  applyView();
}
function pick(b) {
  picked = b;
  render();
  applyView();
  showDetails(b);
}
const linkTo = b => `<a data-go="${b}">${esc(pathOf(b))}</a>`;
function showDetails(b) {
  if (b < 0) { $('details').innerHTML = HINT; return; }
  let html = `<h2>${esc(nameOf(b))}</h2>`;
  if (!isNode(b)) {
    $('details').innerHTML = html + `<div class="dim">${grouped(B.count[b])} nodes</div>`;
    return;
  }
  html += `<div class="dim">${esc(opOf(b))}${B.device[b] ? ' on ' + esc(DATA.texts[B.device[b]]) : ''}</div>`;
  if (B.out[b]) html += `<h3>Outputs</h3><ul><li>${esc(DATA.texts[B.outs[b]])}</li></ul>`;
  const inputs = (DATA.inputs[b] || []).map(([source, slot]) => {
    const folded = source < 0 ? DATA.folded[-1 - source] : null;
    const name = folded ? esc(folded[0]) + ` <span class="dim">${esc(DATA.texts[folded[1]])}</span>` : linkTo(source);
    return `<li>${slot < 0 ? '^' : ''}${name}${slot > 0 ? ':' + slot : ''}</li>`;
  });
  if (inputs.length) html += `<h3>Inputs</h3><ul>${inputs.join('')}</ul>`;
  const list = consumers()[b] || [];
  if (list.length) html += `<h3>Used by</h3><ul>${list.slice(0, 200).map(u => `<li>${linkTo(u)}</li>`).join('')}</ul>`;
  const attrs = B.attrs[b] ? DATA.texts[B.attrs[b]].split('\n') : [];
  const row = text => { const i = text.indexOf('='); return `<dt>${esc(text.slice(0, i))}</dt><dd>${esc(text.slice(i + 1))}</dd>`; };
  if (attrs.length) html += `<h3>Attrs</h3><dl>${attrs.map(row).join('')}</dl>`;
  $('details').innerHTML = html;
}
// What can be found: boxes, and constants and variables in the boxes that they are folded into, once each.
let findable = null;
function findables() {
  if (findable) return findable;
  findable = [];
  const add = (b, path, label, what) => findable.push({b, path, what, own: [label, what].map(s => s.toLowerCase()), text: (path + ' ' + what).toLowerCase()});
  B.label.forEach((label, b) => { if (b && B.kind[b] !== BUNDLE) add(b, pathOf(b), label, isNode(b) ? opOf(b) : 'scope'); });
  const seen = new Set();
  const behind = b => DATA.closed.includes(outermost(+b)) ? 1 : 0;  // A variable is found where it is seen at first.
  for (const b of Object.keys(DATA.inside).sort((a, b) => behind(a) - behind(b) || a - b)) {
    for (const [name, op] of DATA.inside[b].map(i => DATA.folded[i]).map(([name, , op]) => [name, DATA.ops[op]])) {
      if (!seen.has(name)) add(+b, name, name.slice(name.lastIndexOf('/') + 1), op);
      seen.add(name);
    }
  }
  return findable;
}
// How well it fits the words that were searched, 0 best: the op or the name itself, its beginning, a part of it, and
// last what only lies in a scope of such a name. What the drawing keeps closed comes behind what is as good.
function rankOf({b, own}, words) {
  const rank = w => own.includes(w) ? 0 : own.some(s => s.startsWith(w)) ? 1 : own.some(s => s.includes(w)) ? 2 : 3;
  return words.reduce((sum, w) => sum + rank(w), DATA.closed.includes(outermost(b)) ? 1.5 : 0);
}
function search(text) {
  const hits = $('hits'), words = text.toLowerCase().split(/\s+/).filter(Boolean);
  hits.hidden = !words.length;
  if (!words.length) return;
  const found = findables().filter(e => words.every(w => e.text.includes(w))).map(e => [rankOf(e, words), e]);
  found.sort((a, b) => a[0] - b[0] || a[1].b - b[1].b);
  const rows = found.slice(0, 60).map(([, e]) => `<li data-go="${e.b}">${esc(e.path)} <span class="dim">${esc(e.what)}</span></li>`);
  if (found.length > 60) rows.push(`<li class="dim">… and ${grouped(found.length - 60)} more</li>`);
  hits.innerHTML = rows.join('') || '<li class="dim">nothing found</li>';
}

// --- Events ---
const HINT = '<p class="dim">Click a box with a “+” to open it, the title of an open one to close it, a node to see its ' +
  'attrs and neighbours. Drag to move, wheel to zoom, “/” to search, “f” to fit.</p>';
const canvas = $('canvas');
let drag = null;
canvas.addEventListener('pointerdown', e => { drag = {x: e.clientX, y: e.clientY, vx: view.x, vy: view.y, moved: false, target: e.target}; });
window.addEventListener('pointermove', e => {
  if (!drag) return;
  if (Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) > 4) { drag.moved = true; canvas.classList.add('drag'); }
  if (drag.moved) { view.x = drag.vx + e.clientX - drag.x; view.y = drag.vy + e.clientY - drag.y; applyView(); }
});
window.addEventListener('pointerup', () => {
  const was = drag;
  drag = null;
  canvas.classList.remove('drag');
  if (!was || was.moved) return;
  const b = was.target.dataset ? was.target.dataset.b : undefined;
  if (b === undefined) { pick(-1); return; }
  if (isNode(+b)) pick(+b);
  else { picked = +b; toggle(+b); showDetails(+b); }
});
canvas.addEventListener('wheel', e => {
  e.preventDefault();
  const r = canvas.getBoundingClientRect(), mx = e.clientX - r.left, my = e.clientY - r.top;
  const k = Math.min(4, Math.max(0.02, view.k * Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015))));
  view.x = mx - (mx - view.x) * k / view.k;
  view.y = my - (my - view.y) * k / view.k;
  view.k = k;
  applyView();
}, {passive: false});
document.addEventListener('click', e => {
  const go = e.target.closest('[data-go]');
  if (go) { $('hits').hidden = true; reveal(+go.dataset.go); }
});
$('search').addEventListener('input', e => search(e.target.value));
$('search').addEventListener('keydown', e => {
  if (e.key === 'Escape') { e.target.value = ''; search(''); e.target.blur(); }
  if (e.key === 'Enter' && $('hits').firstChild) $('hits').firstChild.click();
});
document.addEventListener('keydown', e => {
  if (e.target === $('search')) return;
  if (e.key === '/') { e.preventDefault(); $('search').focus(); }
  if (e.key === 'f') fit(false);
});
$('fit').addEventListener('click', () => fit(false));
$('close').addEventListener('click', startView);
$('legend').innerHTML = DATA.families.map(([name, color]) => `<span><i style="background:${color}"></i>${name}</span>`).join('') +
  (B.gradient.some(Boolean) ? ['forward', 'gradients'].map(name => `<span><i class="${name}"></i>${name}</span>`).join('') : '');
startView();
const start = decodeURIComponent(location.hash.slice(1));
if (start) { const b = B.label.findIndex((_, i) => pathOf(i) === start); if (b > 0) reveal(b); }
