// The page itself: what the user does, and what is shown then.
import { Drawing, fieldColour, shown } from './drawing.js';
import { FieldWorker } from './field.js';
import { Player } from './player.js';
import { View } from './view.js';

/** Pairs from which on the graph is not painted anew in every frame. */
const MANY = 6000;
const ARROWS = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
};

const find = (id) => document.getElementById(id);

/** Binds a session to the elements of the page. */
export class Controls {
  constructor(page, session) {
    this.page = page;
    this.session = session;
    this.view = new View(page);
    this.drawing = new Drawing(page, this.view, find('base'), find('above'));
    this.drawing.closed = session.closed;
    this.times = {}; // how long things took last, in milliseconds
    this.player = new Player(page, session, () => this.frame());
    this.field = new FieldWorker(session, (field, spent) => {
      this.times.field = spent;
      this.drawing.setField(field);
      this.legend();
      this.repaint();
    });
    this.texts();
    this.markers();
    this.stage();
    this.panel();
    this.keys();
    new ResizeObserver(() => this.resize()).observe(find('stage'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.drawing.readColours();
      this.legend();
      this.repaint();
      this.change();
    });
    this.resize();
    this.change();
    this.showField();
  }

  texts() {
    const { about, graph, names } = this.page;
    const { session } = this;
    if (about.title) document.title = about.title;
    find('title').textContent = about.title;
    find('unit').textContent = about.unit ? ` (${about.unit})` : '';
    find('readout').value = session.readout;
    const facts = [`${about.size.toLocaleString('en')} nodes`,
      `${graph.numEdges.toLocaleString('en')} directed edges`];
    const { core } = session.planner;
    if (core !== graph) facts.push(`the map knows ${core.size} of the nodes`);
    if (about.projection) facts.push(about.projection);
    find('facts').textContent = `${facts.join(', ')}.`;
    this.numbers = names && new Map(names.map((name, node) => [name, node]));
  }

  // --- what is shown ----------------------------------------------------------

  resize() {
    const { clientWidth, clientHeight } = find('stage');
    const { width, height } = this.drawing;
    if (clientWidth === width && clientHeight === height) return;
    this.drawing.resize(clientWidth, clientHeight);
    this.wholeGraph();
  }

  wholeGraph() {
    const { width, height } = this.drawing;
    const margin = Math.min(28, width / 16);
    const isWide = width > 500; // room for the buttons, beside or below
    this.view.fit({ x: margin, y: margin,
      width: width - 2 * margin - (isWide ? 32 : 0),
      height: height - 2 * margin - (isWide ? 0 : 32) });
    this.repaint();
    this.paintAbove();
  }

  /** Paints the graph in the next frame; a large one when there is time. */
  repaint(moves = false) {
    if (moves && this.view.low.length > MANY) {
      this.drawing.shiftBase();
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.repaint(), 120);
      return;
    }
    this.isOld = true;
    this.frame();
  }

  /** The query, the map or the graph has changed: finds the routes again. */
  change() {
    this.isChanged = true;
    this.frame();
  }

  frame() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = null;
      if (this.isOld) {
        this.isOld = false;
        this.drawing.unshiftBase();
        this.drawing.paintBase();
        this.scaleBar();
      }
      if (this.isChanged) this.findRoutes();
      this.paintAbove();
    });
  }

  findRoutes() {
    const { session } = this;
    this.isChanged = false;
    const begin = performance.now();
    this.route = session.route();
    this.times.route = performance.now() - begin;
    this.exact = null;
    this.player.begin(this.route);
    this.results();
    // The route of the map is on the screen before the search begins.
    clearTimeout(this.later);
    this.later = setTimeout(() => this.findExact());
  }

  findExact() {
    const begin = performance.now();
    this.exact = this.session.exact();
    this.times.exact = performance.now() - begin;
    this.results();
    this.paintAbove();
  }

  paintAbove() {
    if (!this.route) return;
    const { session, drawing, player } = this;
    const look = player.look();
    drawing.paintAbove({
      exact: this.exact?.nodes ?? [],
      route: look ? look.route : this.route.nodes,
      expanded: look ? look.behind : [],
      look,
      pairOf: (one, two) => session.pairOf(one, two),
    });
    for (const name of ['start', 'goal']) {
      const [x, y] = this.view.pointOf(session[name]);
      find(name).style.transform = `translate(${x}px,${y}px)`;
    }
    player.say(look);
  }

  results() {
    const { route, exact, page, session } = this;
    const fill = (id, { nodes, cost, expansions }, gap) => {
      const cells = find(id).querySelectorAll('td');
      const found = nodes.length > 0;
      const values = [found ? shown(cost) : 'no route', gap,
        found ? nodes.length - 1 : '–', expansions.toLocaleString('en')];
      values.forEach((value, at) => { cells[at].textContent = value; });
    };
    fill('of-route', route, exact ? gapOf(route.cost, exact.cost) : '');
    if (exact) fill('of-exact', exact, '');
    for (const name of ['start', 'goal']) {
      const label = page.nameOf(session[name]);
      find(`${name}-name`).value = label;
      find(`${name}-name`).setCustomValidity('');
      find(name).setAttribute('aria-label', `${name}: ${label}`);
    }
    const count = session.closed.size;
    find('closed').textContent = count === 0 ? 'No edge is closed'
      : `${count} ${count === 1 ? 'edge is' : 'edges are'} closed`;
    find('reopen').disabled = count === 0;
  }

  legend() {
    const { field, isDark, matrix } = this.drawing;
    const most = field?.most ?? 0;
    const beyond = field?.isCut ? '≥ ' : '';
    const stops = Array.from({ length: 9 }, (_, at) => (
      `rgb(${fieldColour(at, 8, !matrix, isDark)})`));
    find('ramp').style.background = `linear-gradient(90deg, ${stops})`;
    const { unit } = this.page.about;
    find('ticks').querySelectorAll('span').forEach((tick, at) => {
      const value = shown((most * at) / 2);
      const text = at < 2 ? value : `${beyond}${value} ${unit}`;
      tick.textContent = field ? text : '';
    });
    find('legend').classList.toggle('off', !field);
  }

  /** Computes and shows the field, if it is wanted. */
  showField(again = false) {
    if (find('field').checked) {
      this.field.start(again);
      return;
    }
    this.field.cancel();
    this.drawing.setField(null);
    this.legend();
    this.repaint();
  }

  /** A bar of a round length, where positions are in metres. */
  scaleBar() {
    if (!this.page.about.metres) return;
    const most = 120 / this.view.scale;
    const power = 10 ** Math.floor(Math.log10(most));
    const metres = power * [5, 2, 1].find((times) => times * power <= most);
    const bar = find('bar');
    bar.hidden = false;
    bar.style.width = `${metres * this.view.scale}px`;
    bar.textContent = metres < 1000 ? `${metres} m` : `${metres / 1000} km`;
  }

  // --- what the user does -----------------------------------------------------

  /** Moves start or goal to a node. */
  move(name, node) {
    const { session } = this;
    if (node < 0 || node === session[name]) return;
    session[name] = node;
    this.change();
    if (name === 'goal') this.showField();
  }

  /** Where an event is on the stage. */
  place(event) {
    const box = find('stage').getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  markers() {
    for (const name of ['start', 'goal']) {
      const marker = find(name);
      marker.addEventListener('pointerdown', (event) => {
        marker.setPointerCapture(event.pointerId);
        event.stopPropagation();
      });
      marker.addEventListener('pointermove', (event) => {
        if (!marker.hasPointerCapture(event.pointerId)) return;
        this.move(name, this.view.nearestNode(...this.place(event)));
      });
      marker.addEventListener('keydown', (event) => {
        const arrow = ARROWS[event.key];
        if (!arrow) return;
        event.preventDefault();
        const node = this.session[name];
        const others = this.session.neighboursOf(node);
        this.move(name, this.view.neighbourToward(others, node, ...arrow));
      });
      const input = find(`${name}-name`);
      input.addEventListener('change', () => {
        const node = this.nodeOf(input.value);
        input.setCustomValidity(node < 0 ? 'There is no such node' : '');
        input.reportValidity();
        this.move(name, node);
      });
    }
  }

  /** The node of a name, -1 if there is none. */
  nodeOf(name) {
    const node = this.numbers ? this.numbers.get(name) : Number(name || NaN);
    return this.view.usable[node] ? node : -1;
  }

  /** Panning, zooming, and closing edges by a click. */
  stage() {
    const stage = find('stage');
    const fingers = new Map();
    let moved = 0;
    stage.addEventListener('pointerdown', (event) => {
      if (event.target.closest('#zoom')) return;
      stage.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, this.place(event));
      if (fingers.size === 1) moved = 0;
    });
    stage.addEventListener('pointermove', (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const now = this.place(event);
      const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
      moved += Math.hypot(dx, dy);
      if (moved < 4) return;
      stage.classList.add('panning');
      this.view.pan(dx / fingers.size, dy / fingers.size);
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const length = (point) => (
          Math.hypot(point[0] - other[0], point[1] - other[1]) || 1);
        this.view.zoom(length(now) / length(before), ...other);
      }
      fingers.set(event.pointerId, now);
      this.repaint(true);
      this.paintAbove();
    });
    const end = (event) => {
      const isClick = fingers.delete(event.pointerId) && moved < 4;
      stage.classList.remove('panning');
      if (isClick && event.type === 'pointerup') {
        this.toggle(this.view.nearestPair(...this.place(event), 12));
      }
    };
    stage.addEventListener('pointerup', end);
    stage.addEventListener('pointercancel', end);
    stage.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), ...this.place(event));
    }, { passive: false });
    find('zoom').addEventListener('click', (event) => {
      const factor = Number(event.target.dataset.zoom);
      const { width, height } = this.drawing;
      if (factor === 0) this.wholeGraph();
      else if (factor) this.zoom(factor, width / 2, height / 2);
    });
  }

  zoom(factor, x, y) {
    this.view.zoom(factor, x, y);
    this.repaint(true);
    this.paintAbove();
  }

  /** Closes or opens the edges between two nodes. */
  toggle(pair) {
    if (pair < 0) return;
    this.session.toggle(pair);
    this.graphChanged();
  }

  graphChanged() {
    this.repaint();
    this.change();
    this.showField(true);
  }

  panel() {
    const { session, page } = this;
    find('readout').addEventListener('change', () => {
      session.readout = find('readout').value;
      this.change();
    });
    find('field').addEventListener('change', () => this.showField(true));
    find('reopen').addEventListener('click', () => {
      session.reopen();
      this.graphChanged();
    });
    const map = find('map');
    map.max = page.maps.length - 1;
    map.value = map.max;
    find('training').hidden = page.maps.length < 2;
    const name = () => { find('label').textContent = page.maps[map.value].label; };
    name();
    map.addEventListener('input', async () => {
      name();
      await session.setMap(Number(map.value));
      this.change();
      this.showField(true);
    });
  }

  keys() {
    document.addEventListener('keydown', (event) => {
      if (event.target.closest('input, select, summary')) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = {
        ' ': () => this.player.play(),
        ',': () => this.player.stepBy(-1),
        '.': () => this.player.stepBy(1),
        x: () => this.toggle(this.session.pairOf(...this.route.nodes)),
      }[event.key];
      const isButton = event.target.closest('button:not(.marker)');
      if (!act || (isButton && event.key === ' ')) return;
      event.preventDefault();
      act();
    });
  }
}

/** How much more a route costs than the best one. */
function gapOf(cost, least) {
  if (!(cost < Infinity)) return '–';
  const gap = least > 0 ? 100 * (cost / least - 1) : 0;
  return `${Math.max(gap, 0).toFixed(1)} %`;
}
