// Opens every page as people do and looks at what a machine can see: errors, what the policy blocks, accessibility, overflow,
// size. Then it clicks, types keys and reads without script. Prints a line a check, and ends with 1 if any does not hold.
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";

const require = createRequire(`${process.env.LIBRARIES}/package.json`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { ADDRESS, ADMIN, CASES, LEAD, MEMBER, OPERATOR, SHOTS } = process.env;
if (SHOTS) mkdirSync(SHOTS, { recursive: true });

const wrong = [];
const check = (holds, what) => {
  if (!holds) {
    wrong.push(what);
    console.log(`WRONG  ${what}`);
  }
};

const PAGES = [
  ["overview", "/"],
  ["chargeback", "/chargeback"],
  ["chargeback-model", "/chargeback?by=model&basis=busy"],
  ["statement", "/chargeback/statement?team=vision"],
  ["close", "/chargeback/close"],
  ["corrections", "/chargeback/corrections"],
  ["waste", "/waste"],
  ["job", "/job?run=alpha/41382"],
  ["explain", "/job/explain?run=alpha/41382"],
  ["fleet", "/fleet"],
  ["services", "/services"],
  ["health", "/health"],
  ["reclaim", "/reclaim"],
  ["settings", "/settings"],
  ["rates", "/settings/table?table=rates"],
  ["tokens", "/settings/tokens"],
  ["audit", "/settings/audit"],
];
const LOOKS = [
  { width: 1600, colorScheme: "light", lang: "en" },
  { width: 400, colorScheme: "dark", lang: "zh" },
  { width: 1600, colorScheme: "dark", lang: "zh" },
  { width: 400, colorScheme: "light", lang: "en" },
];
// Bytes of a page at most.
const BYTES = 200_000;

const launch = () => chromium.launch({
  executablePath: process.env.BROWSER,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update"],
});
let browser = await launch();

// A promise that does not wait for ever.
const within = (ms, promise) => {
  let timer;
  const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error(`nothing within ${ms} ms`)), ms); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

// A browser that answers nothing at all is no fault of a page: another one takes its place, three times.
async function context(options, token) {
  for (let n = 0; ; n++) {
    try {
      return await within(60_000, signedIn(options, token));
    } catch (e) {
      if (n === 3) throw e;
      console.log(`the browser does not answer (${e.message.split("\n")[0]}): another one is started`);
      await within(10_000, browser.close()).catch(() => {});
      browser = await launch();
    }
  }
}

async function signedIn(options, token) {
  const made = await browser.newContext(options);
  // a machine that builds beside is slow, and that is no fault of a page
  made.setDefaultTimeout(180_000);
  if (token) {
    const page = await made.newPage();
    await page.goto(`${ADDRESS}/sign-in?next=/settings`);
    await page.fill("input[name=token]", token);
    await Promise.all([page.waitForURL("**/settings"), page.click("main button")]);
    await page.close();
  }
  return made;
}

// A page that tells what went wrong in it.
async function watched(made) {
  const page = await made.newPage();
  const errors = [];
  page.on("console", (m) => m.type() === "error" && errors.push(m.text()));
  page.on("pageerror", (e) => errors.push(String(e)));
  return [page, errors];
}

// The page with everything on it: what takes longer than a page waits is asked for again.
async function whole(page) {
  for (let i = 0; await page.locator("meta[http-equiv=refresh]").count(); i++) {
    if (i === 240) throw new Error(`${page.url()} is never whole`);
    await page.waitForTimeout(500);
    await page.reload();
  }
}

// What holds of every page once it is whole; with a picture of it.
async function sound(page, name, { width, colorScheme, lang }) {
  const at = `${name} ${width} ${colorScheme} ${lang}`;
  await whole(page);
  const html = await page.content();
  const bytes = Buffer.byteLength(html);
  check(bytes < BYTES, `${at}: ${bytes} bytes`);
  check((await page.locator("h1").count()) === 1, `${at}: not one h1`);
  check((await page.locator(".sentence").count()) === 1, `${at}: no sentence`);
  check(!html.includes("[there is no message"), `${at}: a message is missing`);
  const failed = await page.locator(".state-box.failed").allInnerTexts();
  check(failed.length === 0, `${at}: a part failed: ${failed.join("; ").slice(0, 200)}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(wide <= 0, `${at}: ${wide} px too wide`);
  if (SHOTS) await page.screenshot({ path: `${SHOTS}/${name}-${width}-${colorScheme}-${lang}.png`, fullPage: true });
  // evaluated by the debugger, which the policy does not bind
  await page.evaluate(axe);
  const seen = await page.evaluate(() => window.axe.run());
  for (const v of seen.violations.filter((v) => ["serious", "critical"].includes(v.impact))) {
    check(false, `${at}: axe ${v.impact} ${v.id}: ${v.nodes[0].target.join(" ")} (${v.nodes.length})`);
  }
}

const took = [];
for (const look of LOOKS) {
  const { width, colorScheme, lang } = look;
  const made = await context({ viewport: { width, height: 900 }, colorScheme }, ADMIN);
  for (const [name, path] of PAGES) {
    const [page, errors] = await watched(made);
    const at = `${name} ${width} ${colorScheme} ${lang}`;
    const began = Date.now();
    const answer = await page.goto(`${ADDRESS}${path}${path.includes("?") ? "&" : "?"}lang=${lang}`);
    took.push([Date.now() - began, name]);
    check(answer.status() === 200, `${at}: status ${answer.status()}`);
    await sound(page, name, look);
    check(errors.length === 0, `${at}: ${errors.join("; ")}`);
    await page.close();
  }
  await made.close();
  // a browser that opened many pages may open no more
  await within(10_000, browser.close()).catch(() => {});
  browser = await launch();
}

// clicked through, from the first page down to the minutes of a run
{
  const made = await context({ viewport: { width: 1600, height: 900 } }, ADMIN);
  const [page, errors] = await watched(made);
  await page.goto(`${ADDRESS}/?lang=en`);
  for (const link of await page.locator("nav a").evaluateAll((all) => all.map((a) => a.href))) {
    const answer = await page.goto(link);
    check(answer.status() === 200, `navigation to ${link}: ${answer.status()}`);
  }
  await page.goto(`${ADDRESS}/chargeback?lang=en`);
  await whole(page);
  const charge = await page.locator("#charges tbody tr", { hasText: "vision" }).locator("td.n").nth(5).innerText();
  await page.locator("#charges tbody th a", { hasText: "vision" }).click();
  await page.waitForURL("**/chargeback/statement**");
  await whole(page);
  const total = page.locator("#lines tfoot td", { hasText: charge }).first();
  // a page that asks again by itself may do so while it is looked at
  let comes = false;
  for (let i = 0; i < 120 && !comes; i++) {
    await whole(page).catch(() => {});
    comes = (await total.count().catch(() => 0)) > 0;
    if (!comes) await page.waitForTimeout(500);
  }
  const there = async () => `${page.url()}: ${(await page.locator("main").innerText()).slice(0, 400)}`;
  check(comes, comes || `the statement of vision does not come to ${charge}: ${await there()}`);
  await page.locator("#lines tbody th a").first().click();
  await page.waitForURL("**/chargeback/line**");
  await whole(page);
  check((await page.locator("main table").count()) > 0, "a line is made of nothing");
  await page.goto(`${ADDRESS}/waste?lang=en`);
  await whole(page);
  await page.locator(".findings h3 a").first().click();
  await page.waitForURL("**/job**");
  await whole(page);
  check((await page.locator("main h2").count()) > 0, "a finding leads nowhere");

  // by keyboard and pointer
  await page.goto(`${ADDRESS}/fleet?lang=en`);
  await whole(page);
  await page.keyboard.press("t");
  check((await page.locator("details.as-table[open]").count()) > 0, "`t` shows no table");
  await page.keyboard.press("Tab");
  check(await page.evaluate(() => document.activeElement !== document.body), "Tab goes nowhere");
  await page.goto(`${ADDRESS}/chargeback?lang=en`);
  await whole(page);
  await page.locator("#charges thead a", { hasText: "charge" }).first().click();
  check(page.url().includes("sort=charges"), `sorting is not in the address: ${page.url()}`);
  const sums = (await page.locator("#charges tbody tr").evaluateAll((rows) => rows.map((r) => r.cells[6].dataset.v))).map(Number);
  check(sums.every((v, i) => i === 0 || sums[i - 1] >= v), `sorted by charge: ${sums}`);
  const before = await page.evaluate(() => document.documentElement.dataset.theme || "");
  await page.locator("#theme").click();
  check((await page.evaluate(() => document.documentElement.dataset.theme)) !== before, "the theme does not change");

  // what would be done for good is not done without the name
  await page.goto(`${ADDRESS}/chargeback/close?lang=en`);
  const typed = page.locator("form[action='/chargeback/close'] input[name=typed]");
  if (await typed.count()) {
    await typed.fill("2026-3");
    check(!(await typed.evaluate((f) => f.checkValidity())), "a wrong name closes a month");
  }

  // a change of a reference table is shown before it is saved
  await page.goto(`${ADDRESS}/settings/table?table=contacts&lang=en`);
  const csv = page.locator("textarea[name=csv]");
  check((await csv.count()) === 1, "there is no form");
  const header = await csv.inputValue();
  await csv.fill(`${header.trim()}\n`);
  await page.locator("button[value=show]").click();
  await page.waitForLoadState();
  check((await page.locator("textarea[name=csv]").inputValue()).startsWith(header.trim()), "what was typed is gone");
  check(errors.filter((e) => !e.includes("status of 4")).length === 0, `clicking through: ${errors.join("; ")}`);
  await made.close();
}

// a case in every state, made by the engine: the list and each case in both languages, for everybody who may see it
const STATES = {
  en: ["seen idle", "warned", "last warning", "due", "approved", "being acted on", "failed", "needs an operator", "kept", "exempt",
    "freed", "active again"],
  zh: ["观察到空闲", "已警告", "最后警告", "到期", "已批准", "执行中", "失败", "需要运维", "保留", "豁免", "已释放", "恢复活动"],
};
if (CASES) {
  for (const look of LOOKS) {
    const { width, colorScheme, lang } = look;
    const made = await context({ viewport: { width, height: 900 }, colorScheme }, OPERATOR);
    const [page, errors] = await watched(made);
    const looked = async (name, path) => {
      const at = `${name} ${width} ${colorScheme} ${lang}`;
      const address = new URL(path, ADDRESS);
      address.searchParams.set("lang", lang);
      const answer = await page.goto(address.href);
      check(answer.status() === 200, `${at}: status ${answer.status()}`);
      await sound(page, name, look);
    };
    await looked("cases", "/reclaim");
    const badges = await page.locator("#open .badge, #over .badge").allInnerTexts();
    const missing = STATES[lang].filter((state) => !badges.some((b) => b.trim() === state));
    check(missing.length === 0, `cases ${lang}: no case is ${missing.join(", ")}`);
    const rows = page.locator("#open tbody tr, #over tbody tr");
    const cases = await rows.evaluateAll((all) => all.map((r) => [r.querySelector(".badge").innerText.trim(), r.querySelector("a").href]));
    for (const state of STATES[lang]) {
      const [, href] = cases.find(([is]) => is === state) ?? [];
      if (!href) continue;
      const number = STATES[lang].indexOf(state);
      await looked(`case-${STATES.en[number].replaceAll(" ", "-")}`, href);
      check((await page.locator("h2 .badge").first().innerText()).trim() === state, `the page of a case that is ${state}`);
      check((await page.locator("#why tbody tr").count()) > 0, `nothing happened to a case that is ${state}`);
    }
    check(errors.length === 0, `cases: ${errors.join("; ")}`);
    await made.close();
    await within(10_000, browser.close()).catch(() => {});
    browser = await launch();
  }

  // an owner sees their own, keeps one, and sees it kept; an operator holds another's; a lead sees those of the team
  const state = async (page) => (await page.locator("h2 .badge").first().innerText()).trim();
  const owner = await context({ viewport: { width: 1600, height: 900 } }, MEMBER);
  const [mine] = await watched(owner);
  await mine.goto(`${ADDRESS}/reclaim?lang=en`);
  await whole(mine);
  const whose = await mine.locator("#open tbody td:nth-child(2), #over tbody td:nth-child(2)").allInnerTexts();
  check(whose.length > 1 && whose.every((w) => w.includes("ines")), `ines sees cases of ${whose}`);
  await mine.locator("#open tbody tr", { hasText: "last warning" }).locator("a", { hasText: "Keep it" }).first().click();
  await mine.waitForURL("**/reclaim/case**");
  await whole(mine);
  await mine.locator("#keep input[name=reason]").fill("waits for its data");
  await mine.locator("#keep button").click();
  await mine.waitForLoadState();
  await whole(mine);
  if (!(await mine.locator("h2 .badge").count())) await mine.locator("main a").first().click();
  await whole(mine);
  check((await state(mine)) === "kept", `what its owner keeps is ${await state(mine)}`);
  check((await mine.locator("#why tbody").innerText()).includes("waits for its data"), "the reason is not in the story");
  await owner.close();

  const duty = await context({ viewport: { width: 1600, height: 900 } }, OPERATOR);
  const [watch] = await watched(duty);
  await watch.goto(`${ADDRESS}/reclaim?lang=en`);
  await whole(watch);
  await watch.locator("#open tbody tr", { hasText: "43382" }).locator("a").first().click();
  await watch.waitForURL("**/reclaim/case**");
  await whole(watch);
  await watch.locator("#operate input[name=reason]").fill("the owner called");
  await watch.locator("#operate button[value=hold]").click();
  await watch.waitForLoadState();
  await whole(watch);
  if (!(await watch.locator("h2 .badge").count())) await watch.locator("main a").first().click();
  await whole(watch);
  check((await watch.locator("#why tbody").innerText()).includes("the owner called"), "a hold is not in the story");
  if (SHOTS) await watch.screenshot({ path: `${SHOTS}/case-held.png`, fullPage: true });
  await duty.close();

  const led = await context({ viewport: { width: 1600, height: 900 } }, LEAD);
  const [team] = await watched(led);
  await team.goto(`${ADDRESS}/reclaim?lang=en`);
  await whole(team);
  const teams = await team.locator("#open tbody td:nth-child(2), #over tbody td:nth-child(2)").allInnerTexts();
  check(teams.length > 1 && teams.every((w) => w.includes("vision")), `a lead of vision sees cases of ${teams}`);
  await led.close();
  await within(10_000, browser.close()).catch(() => {});
  browser = await launch();
}

// a lead sees one team, and is told where not
{
  const made = await context({ viewport: { width: 1600, height: 900 } }, LEAD);
  const [page] = await watched(made);
  await page.goto(`${ADDRESS}/chargeback?lang=en`);
  await whole(page);
  const teams = await page.locator("#charges tbody th").allInnerTexts();
  check(teams.length === 1 && teams[0] === "vision", `a lead of vision sees ${teams}`);
  await page.goto(`${ADDRESS}/fleet?lang=en`);
  check((await page.locator(".state-box.forbidden").count()) > 0, "a lead is not told that the fleet is not for them");
  check((await page.locator("nav a").count()) > 0, "a lead has no way on");
  await made.close();
}

// without script a page reads, and nobody comes in without a token
{
  const made = await context({ viewport: { width: 1600, height: 900 }, javaScriptEnabled: false }, ADMIN);
  const page = await made.newPage();
  for (const [name, path] of PAGES) {
    await page.goto(`${ADDRESS}${path}${path.includes("?") ? "&" : "?"}lang=en`);
    await whole(page);
    check((await page.locator("main").innerText()).length > 200, `${name} without script is empty`);
  }
  await page.goto(`${ADDRESS}/chargeback?lang=en`);
  await whole(page);
  await page.locator("#charges thead a", { hasText: "held h" }).click();
  await page.waitForURL("**sort=charges**");
  check((await page.locator("th[aria-sort]").count()) === 1, "sorting needs script");
  await made.close();
  const nobody = await context({}, "");
  const door = await nobody.newPage();
  const answer = await door.goto(`${ADDRESS}/waste`);
  check(door.url().includes("/sign-in") && answer.status() === 200, `nobody comes to ${door.url()}`);
  await door.goto(`${ADDRESS}/waste?colour=red`);
  await nobody.close();
}

await within(10_000, browser.close()).catch(() => {});
took.sort((a, b) => a[0] - b[0]);
const middle = took[Math.floor(took.length / 2)][0];
console.log(`${took.length} loads of pages: median ${middle} ms, slowest ${took.at(-1)[0]} ms (${took.at(-1)[1]})`);
console.log(wrong.length ? `${wrong.length} checks do not hold` : "every page holds");
process.exit(wrong.length ? 1 : 0);
