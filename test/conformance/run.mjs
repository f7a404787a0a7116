// Runs the official MCP conformance suite against `savant mcp --http`, in each
// revision that it knows. Prints TAP. SAVANT_BINARY is the program.
import {spawn} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';

const here = import.meta.dirname;
const node = join(here, 'node_modules/.bin/node'); // the suite wants a later one than may be installed
// left are the scenarios of each suite that do not pass, with what of them does:
// docs/http.md says why.
const suites = JSON.parse(readFileSync(join(here, 'left.json')));

const scratch = mkdtempSync(join(tmpdir(), 'savant-conformance-'));

// begin starts a server and returns where it serves.
async function begin(program, args) {
  const server = spawn(program, args, {stdio: ['ignore', 'inherit', 'pipe'], env: {...process.env, XDG_CONFIG_HOME: scratch, XDG_CACHE_HOME: scratch}});
  const ended = new Promise((resolve) => server.on('close', resolve));
  let said = '';
  const address = await new Promise((resolve, reject) => {
    const lines = createInterface({input: server.stderr});
    lines.on('line', (line) => {
      said += line + '\n';
      const found = line.match(/serving MCP at (\S+)/);
      if (found) resolve(found[1]);
    });
    lines.on('close', () => reject(new Error('the server did not start:\n' + said)));
  });
  return {server, ended, address};
}

const {server, ended, address} = await begin(process.env.SAVANT_BINARY, ['mcp', '--http', '127.0.0.1:0', '--path', scratch]);
// fixtures has the tools that the scenarios about tasks call.
const fixtures = await begin(process.env.SAVANT_FIXTURES, []);

let number = 0;
let failed = 0;
function outcome(good, name) {
  number++;
  if (!good) failed++;
  console.log(`${good ? 'ok' : 'not ok'} ${number} - ${name}`);
}

// run returns what the suite said, of all scenarios or of those that are chosen.
function run({suite, revision}, chosen = ['--suite', 'all'], url = address) {
  return new Promise((resolve) => {
    const child = spawn(node, [join(here, 'node_modules', suite, 'dist/index.js'), 'server', '--url', url, ...chosen,
      '--spec-version', revision], {cwd: scratch});
    let output = '';
    child.stdout.on('data', (data) => { output += data; });
    child.stderr.on('data', (data) => { output += data; });
    child.on('close', () => resolve(output));
  });
}

for (const each of suites) {
  const output = await run(each);
  const left = new Map(Object.entries(each.left));
  for (const [scenario, expected] of Object.entries(each.scenarios ?? {})) {
    const [, counts] = (await run(each, ['--force', '--scenario', scenario], fixtures.address)).match(/^Passed: (.*), \d+ warnings$/m) ?? [];
    outcome(counts === expected, `${each.suite} ${each.revision}: ${scenario}: ${counts}`);
  }
  let passed = 0;
  for (const [, , scenario, counts] of output.matchAll(/^([✓✗]) (\S+): (.*)$/gm)) {
    const name = `${each.suite} ${each.revision}: ${scenario}: ${counts}`;
    if (left.get(scenario) === counts) {
      console.log(`# left out: ${name}`);
    } else {
      passed++;
      outcome(/, 0 failed$/.test(counts) && !left.has(scenario), name);
    }
    left.delete(scenario);
  }
  const whole = passed > 0 && left.size === 0;
  outcome(whole, `${each.suite} ${each.revision}: every scenario was run`);
  if (!whole) console.log(output.replace(/^/gm, '# '));
}
// Scenarios of extensions are in no suite of a revision. Extensions are declared from 2026-07-28 on.
for (const each of suites.filter(({suite, revision}) => suite === 'conformance-next' && revision === '2026-07-28')) {
  for (const scenario of ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest']) {
    const output = await run(each, ['--scenario', scenario, '--force']);
    const [counts, passed] = output.match(/Passed: (\d+)\/\d+, 0 failed, 0 warnings/) ?? ['failed', 0];
    outcome(passed > 1, `${each.suite} ${each.revision}: ${scenario}: ${counts}`);
    if (!(passed > 1)) console.log(output.replace(/^/gm, '# '));
  }
}
fixtures.server.kill('SIGTERM');
server.kill('SIGTERM');
outcome(await ended !== null, 'the server ended');
rmSync(scratch, {recursive: true, force: true});
console.log(`1..${number}`);
process.exit(failed === 0 ? 0 : 1);
