// Pictures: the graph with its field below, routes above.

/** Viridis, from dark to bright: told apart without seeing all colours. */
const VIRIDIS = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43],
  [253, 231, 37]];
/** Colours of lines by the field; more could not be told apart. */
const SHADES = 40;

/** A colour of viridis; 0 is dark, 1 is bright. */
export function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[low].map((value, k) => (
    Math.round(value + (at - low) * (VIRIDIS[low + 1][k] - value))));
}

/** A value of the field as a colour: bright near the goal, dark far away. */
export function fieldColour(value, most, isLine, isDark) {
  const share = 1 - Math.min(value / (most || 1), 1);
  // Lines must not vanish on the paper.
  if (!isLine) return viridis(share);
  return viridis(isDark ? 0.2 + 0.8 * share : 0.88 * share);
}

/** A number with three digits that count. */
export function shown(value) {
  if (!(Math.abs(value) < Infinity)) return '–';
  const digits = value === 0 ? 0 : 2 - Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(Math.max(digits, 0), 6));
}

/** Draws a page on two canvases, one above the other. */
export class Drawing {
  constructor(page, view, base, above) {
    this.page = page;
    this.view = view;
    this.base = base;
    this.above = above;
    this.field = null; // { values, most }
    this.closed = new Set(); // pairs
    this.paper = null; // the graph as it was painted last, and where
    const { cells } = page.about;
    if (cells) this.matrix = matrixOf(page);
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = (name) => style.getPropertyValue(`--${name}`).trim();
    this.isDark = this.colour('scheme') === 'dark';
    if (this.matrix) this.paintCells();
  }

  /** Fits the canvases to their place on the screen. */
  resize(width, height) {
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.width = width;
    this.height = height;
    for (const canvas of [this.base, this.above]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
    }
  }

  context(canvas) {
    const context = canvas.getContext('2d');
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.lineCap = 'round';
    context.lineJoin = 'round';
    return context;
  }

  // --- the graph --------------------------------------------------------------

  setField(field) {
    this.field = field;
    if (this.matrix) this.paintCells();
  }

  paintBase() {
    const context = this.context(this.base);
    if (this.matrix) this.drawCells(context); else this.drawLines(context);
    this.drawClosed(context);
    const { scale, left, top } = this.view;
    this.paper = { scale, left, top };
  }

  /** Moves what is painted, until there is time to paint it anew. */
  shiftBase() {
    const { scale, left, top } = this.view;
    const change = scale / this.paper.scale;
    const x = left - this.paper.left * change;
    const y = top - this.paper.top * change;
    this.base.style.transformOrigin = '0 0';
    this.base.style.transform = `translate(${x}px,${y}px) scale(${change})`;
  }

  unshiftBase() { this.base.style.transform = ''; }

  /** One pixel for every cell. */
  paintCells() {
    const { width, height, nodes, image } = this.matrix;
    const context = image.getContext('2d');
    const pixels = context.createImageData(width, height);
    const wall = rgbOf(this.colour('wall'));
    const paper = rgbOf(this.colour('floor'));
    const { ground, blocked } = this.page.arrays;
    for (let at = 0; at < nodes.length; at++) {
      const node = nodes[at];
      let colour = wall;
      if (node >= 0 && !blocked?.[node]) {
        const light = ground ? ground[node] / 255 : 1;
        colour = paper;
        let depth = this.isDark ? 0.5 : 0.28;
        const value = this.field?.values[node];
        if (value < Infinity) {
          colour = fieldColour(value, this.field.most);
          depth = 0.22;
        }
        colour = colour.map((part) => part * (1 - depth * (1 - light)));
      }
      pixels.data.set([...colour, 255], 4 * at);
    }
    context.putImageData(pixels, 0, 0);
  }

  drawCells(context) {
    const { view } = this;
    const { width, height, image, bars } = this.matrix;
    const [w, h] = [view.cell[0] * view.scale, view.cell[1] * view.scale];
    const [x, y] = [view.sx(-view.cell[0] / 2), view.sy(-view.cell[1] / 2)];
    context.imageSmoothingEnabled = false;
    context.drawImage(image, x, y, width * w, height * h);
    if (Math.min(w, h) >= 9) { // thin lines between cells
      context.strokeStyle = this.colour('mesh');
      context.lineWidth = 1;
      context.beginPath();
      for (let i = 1; i < width; i++) {
        context.moveTo(x + i * w, y);
        context.lineTo(x + i * w, y + height * h);
      }
      for (let j = 1; j < height; j++) {
        context.moveTo(x, y + j * h);
        context.lineTo(x + width * w, y + j * h);
      }
      context.stroke();
    }
    this.strokeBars(context, bars, 'wall');
  }

  /** Walls between cells that stand side by side. */
  strokeBars(context, bars, name) {
    const { view } = this;
    const [w, h] = [view.cell[0] * view.scale, view.cell[1] * view.scale];
    const path = new Path2D();
    for (const [one, two] of bars) {
      const [x0, y0] = view.pointOf(one);
      const [x1, y1] = view.pointOf(two);
      const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
      // At a right angle to the step, half a cell to either side.
      const [dx, dy] = [((y1 - y0) / h) * (w / 2), ((x0 - x1) / w) * (h / 2)];
      path.moveTo(x - dx, y - dy);
      path.lineTo(x + dx, y + dy);
    }
    const width = Math.max(2, Math.min(w, h) / 7);
    for (const [style, wide] of [['casing', width + 2.5], [name, width]]) {
      if (style === 'casing' && name === 'wall') continue;
      context.strokeStyle = this.colour(style);
      context.lineWidth = wide;
      context.stroke(path);
    }
  }

  drawLines(context) {
    const { view, field, isDark } = this;
    const { low, high } = view;
    const thin = this.lineWidth();
    context.lineWidth = thin;
    if (!field) {
      context.strokeStyle = this.colour('street');
      context.beginPath();
      for (let pair = 0; pair < low.length; pair++) this.trace(context, pair);
      context.stroke();
      return;
    }
    const paths = Array.from({ length: SHADES + 1 }, () => new Path2D());
    for (let pair = 0; pair < low.length; pair++) {
      const value = (field.values[low[pair]] + field.values[high[pair]]) / 2;
      const shade = Math.round((SHADES - 1) * Math.min(1, value / field.most));
      this.trace(paths[value < Infinity ? shade : SHADES], pair);
    }
    context.lineWidth = thin * 1.2;
    for (let shade = SHADES; shade >= 0; shade--) { // the near ones on top
      const value = (shade / (SHADES - 1)) * field.most;
      const colour = fieldColour(value, field.most, true, isDark);
      context.strokeStyle = shade === SHADES ? this.colour('street')
        : `rgb(${colour})`;
      context.stroke(paths[shade]);
    }
  }

  lineWidth() {
    const { view } = this;
    // By the room that a street has: many streets, thin lines.
    const [x0, y0, x1, y1] = view.bounds;
    const area = Math.max((x1 - x0) * (y1 - y0), 1e-12) * view.scale ** 2;
    const room = Math.sqrt(area / Math.max(view.low.length, 1));
    return Math.min(2.4, Math.max(0.6, room / 8));
  }

  trace(path, pair) {
    const { view } = this;
    const { low, high, begin } = view;
    path.moveTo(view.sx(view.x[low[pair]]), view.sy(view.y[low[pair]]));
    for (let at = begin[pair]; at < begin[pair + 1]; at++) {
      path.lineTo(view.sx(view.bendX[at]), view.sy(view.bendY[at]));
    }
    path.lineTo(view.sx(view.x[high[pair]]), view.sy(view.y[high[pair]]));
  }

  drawClosed(context) {
    const { view } = this;
    if (this.closed.size === 0) return;
    if (this.matrix) {
      const bars = [...this.closed].map((p) => [view.low[p], view.high[p]]);
      this.strokeBars(context, bars, 'closed');
      return;
    }
    for (const pair of this.closed) {
      const path = new Path2D();
      this.trace(path, pair);
      context.lineWidth = this.lineWidth() + 2.5;
      context.strokeStyle = this.colour('paper');
      context.stroke(path);
      context.lineWidth = this.lineWidth() + 1;
      context.strokeStyle = this.colour('closed');
      context.setLineDash([1, 5]);
      context.stroke(path);
      context.setLineDash([]);
      const [x, y] = middleOf([...view.pointsOf(pair)]);
      cross(context, view.sx(x), view.sy(y), this.colour('closed'),
        this.colour('paper'));
    }
  }

  // --- routes -----------------------------------------------------------------

  /** Width of routes: never wider than a cell. */
  routeWidth() {
    if (!this.matrix) return 4;
    const side = Math.min(...this.view.cell) * this.view.scale;
    return Math.min(5, Math.max(1.5, side * 0.22));
  }

  paintAbove({ exact, route, expanded, look, pairOf }) {
    const context = this.context(this.above);
    const { view } = this;
    const width = this.routeWidth();
    this.dots(context, expanded);
    // The wide one below shows on both sides where the two coincide.
    this.line(context, view.lineOf(exact, pairOf), 2.1 * width, 'exact');
    this.line(context, view.lineOf(route, pairOf), width, 'route');
    if (look) this.drawLook(context, look);
  }

  line(context, points, width, name) {
    if (points.length < 2) return;
    const path = new Path2D();
    points.forEach(([x, y], at) => {
      if (at) path.lineTo(x, y); else path.moveTo(x, y);
    });
    context.strokeStyle = this.colour('casing');
    context.lineWidth = width + (name === 'exact' ? 2.5 : 1.5);
    context.stroke(path);
    context.strokeStyle = this.colour(name);
    context.lineWidth = width;
    context.stroke(path);
  }

  /** Nodes that were expanded. */
  dots(context, nodes) {
    const side = this.matrix ? Math.min(...this.view.cell) * this.view.scale
      : 20;
    const size = Math.min(3, Math.max(1.2, side * 0.16));
    context.fillStyle = this.colour('expanded');
    context.beginPath();
    for (const node of nodes) {
      const [x, y] = this.view.pointOf(node);
      context.moveTo(x + size, y);
      context.arc(x, y, size, 0, 7);
    }
    context.fill();
  }

  /** What the map sees at a node: its neighbours and their scores. */
  drawLook(context, { node, neighbours, chosen }) {
    const { view } = this;
    const [x, y] = view.pointOf(node);
    context.lineWidth = 2;
    for (const { line } of neighbours) {
      this.line(context, line.map((at) => view.pointOf(at)), 1.5, 'look');
    }
    context.fillStyle = this.colour('paper');
    context.strokeStyle = this.colour('ink');
    context.beginPath();
    context.arc(x, y, 6, 0, 7);
    context.fill();
    context.stroke();
    context.font = '600 12px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const placed = [];
    for (const { node: other, value } of neighbours) {
      const text = shown(value);
      const label = this.labelPlace(context, x, y, view.pointOf(other), text,
        placed);
      placed.push(label);
      const isChosen = other === chosen;
      context.fillStyle = this.colour(isChosen ? 'route' : 'paper');
      context.strokeStyle = this.colour(isChosen ? 'casing' : 'ink');
      context.lineWidth = 1;
      context.beginPath();
      context.roundRect(label.x - label.w / 2, label.y - 9, label.w, 18, 9);
      context.fill();
      context.stroke();
      context.fillStyle = this.colour(isChosen ? 'casing' : 'ink');
      context.fillText(text, label.x, label.y + 0.5);
    }
  }

  /** Beyond the neighbour, pushed outward until it covers no other label. */
  labelPlace(context, x, y, [nx, ny], text, placed) {
    const w = context.measureText(text).width + 12;
    const length = Math.hypot(nx - x, ny - y) || 1;
    const [dx, dy] = [(nx - x) / length, (ny - y) / length];
    let far = Math.min(Math.max(length + 14, 34), 120);
    const covers = (at) => placed.some((other) => (
      Math.abs(other.x - (x + dx * at)) < (other.w + w) / 2 + 2
      && Math.abs(other.y - (y + dy * at)) < 20));
    while (covers(far) && far < 300) far += 12;
    return { x: x + dx * far, y: y + dy * far, w };
  }
}

/** Cells by place, walls between them, and an image of a pixel each. */
function matrixOf(page) {
  const { x, y } = page.arrays;
  const [width, height] = page.about.frame ?? [x, y].map((axis) => (
    axis.reduce((most, value) => Math.max(most, value), 0) + 1));
  const nodes = new Int32Array(width * height).fill(-1);
  x.forEach((column, node) => { nodes[y[node] * width + column] = node; });
  const image = document.createElement('canvas');
  image.width = width;
  image.height = height;
  const bars = [];
  const { graph, arrays } = page;
  const isWall = (node) => node < 0 || arrays.blocked?.[node];
  nodes.forEach((one, at) => {
    const right = (at + 1) % width ? nodes[at + 1] : -1;
    const down = nodes[at + width] ?? -1;
    for (const two of [right, down]) {
      if (isWall(one) || isWall(two)) continue;
      if (graph.edgeOf(one, two) < 0 && graph.edgeOf(two, one) < 0) {
        bars.push([one, two]);
      }
    }
  });
  return { width, height, nodes, image, bars };
}

function middleOf(points) {
  const at = (points.length - 1) / 2;
  const [one, two] = [points[Math.floor(at)], points[Math.ceil(at)]];
  return [(one[0] + two[0]) / 2, (one[1] + two[1]) / 2];
}

function cross(context, x, y, colour, paper) {
  for (const [style, width] of [[paper, 6], [colour, 3]]) {
    context.strokeStyle = style;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x - 5, y - 5);
    context.lineTo(x + 5, y + 5);
    context.moveTo(x + 5, y - 5);
    context.lineTo(x - 5, y + 5);
    context.stroke();
  }
}

/** The parts of a colour that is written as #rrggbb. */
function rgbOf(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}
