// Opens the page.
import { openPage } from './contents.js';
import { Controls } from './controls.js';
import { Session } from './session.js';

/** Shows what the document holds; `explorer` is there for the console. */
async function main() {
  const about = JSON.parse(document.getElementById('about').textContent);
  const texts = [...document.querySelectorAll('[id^=blob]')].map(
    (element) => element.textContent);
  const page = await openPage(about, texts);
  const session = new Session(page, await page.maps.at(-1).open());
  const controls = new Controls(page, session);
  globalThis.explorer = { page, session, controls };
}

main();
