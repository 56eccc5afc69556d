/**
 * The house: the layers of the folders of src, the arrows between them, and who names a capability. `npm run check:layers`
 * prints the figures, and fails where the picture in docs/architecture.md is out of date, a folder has no layer, or an arrow goes
 * upwards. `npm run house` writes the picture.
 *
 * A room is a folder of src, a file beside the folders, or workers. An arrow is a pair of rooms of which one imports the other,
 * types included. It goes upwards if the imported room is in a higher layer.
 *
 * A file names a capability if one of its identifiers, strings or regular expressions has a word of NAMES; import paths are
 * strings, so an import counts. Comments do not count. `signature` is a word of cryptography too: of signatures count imports of
 * the folder, and its scopes, events and ids. Files of NOT_SWAPS swap something else. The words of ACTIONS alone name no
 * capability: they are what policies say that a request does, in the contract and in stored policies. Looked at are TypeScript and
 * JavaScript of src, workers and scripts, without what a build makes and without this file. The tables of a capability come with its
 * migration, and the compose file is made from the table of processes.
 *
 *   node scripts/house.mjs [--check] [--files]     with --files, the files that name each capability too
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { filesBelow } from './fingerprint.mjs'
import { withPart } from './marked-part.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const PAGE = 'docs/architecture.md'

/** @typedef {{ readonly name: string, readonly rooms: readonly string[] | 'others' }} Layer */
/** @typedef {{ readonly from: string, readonly to: string }} Arrow */
/** @typedef {{ readonly source: string, readonly dependencies: readonly { readonly resolved: string }[] }} Module */

/** From the bottom to the top. A room may import rooms of its own layer and of those below. @type {readonly Layer[]} */
const LAYERS = [
  { name: 'artefacts', rooms: ['contracts', 'generated'] },
  { name: 'core', rooms: ['core'] },
  { name: 'kernel', rooms: ['event-log', 'chain', 'keys', 'jobs'] },
  { name: 'settings and logs', rooms: ['config', 'config.ts', 'logging.ts', 'redaction.ts'] },
  { name: 'edges', rooms: ['http', 'cli'] },
  { name: 'contexts', rooms: ['context.ts', 'api-context.ts', 'capability.ts'] },
  { name: 'base capabilities', rooms: ['transactions', 'wallets'] },
  { name: 'capabilities', rooms: 'others' },
  { name: 'list of declarations', rooms: ['declarations.ts'] },
  { name: 'composition', rooms: ['compose'] },
  { name: 'programs', rooms: ['sandbox', 'main.ts', 'workers'] },
]

/** What a file outside of the folder says if it names the capability. */
const NAMES = {
  swaps: /swap/i,
  webhooks: /webhook/i,
  nft: /nft|voucher/i,
  signatures: /\/signatures\/|signatures:(read|write)|(Message|TypedData)Signature|SignatureMade|signature_id/,
}
/** As in `core/policy.ts`. A test compares them. */
export const ACTIONS = new Set([
  'transfer',
  'batch',
  'swap',
  'contract_call',
  'approve',
  'nft_mint',
  'nft_transfer',
  'sign_message',
  'sign_typed_data',
  'export',
  'api_key_change',
])
/** They exchange letters or tables, or know names of other people's typed data. */
const NOT_SWAPS = /^src\/(core\/(closest|spending-types)|event-log\/rebuild|replay\/rebuild-command)\.ts$/
const CODE = /\.(ts|mjs)$/
const NOT_OURS = /^(src\/(generated|contracts\/artifacts)\/|scripts\/house\.mjs$)/

const MARKS = { begin: '<!-- house: made by npm run house -->', end: '<!-- end of house -->' }

/** @param {string} path @returns {string | null} */
function roomOf(path) {
  const [top = '', ...rest] = path.split('/')
  return top === 'workers' ? top : top === 'src' ? (rest[0] ?? null) : null
}

/** The arrows between rooms, sorted. @param {readonly Module[]} modules @returns {readonly Arrow[]} */
export function arrowsOf(modules) {
  /** @type {Map<string, Arrow>} */
  const arrows = new Map()
  for (const { source, dependencies } of modules)
    for (const { resolved } of dependencies) {
      const [from, to] = [roomOf(source), roomOf(resolved)]
      if (from !== null && to !== null && from !== to) arrows.set(`${from} ${to}`, { from, to })
    }
  return [...arrows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, arrow]) => arrow)
}

/**
 * @param {readonly Arrow[]} arrows
 * @throws Error for a file beside the folders that is in no layer
 */
export function createHouse(arrows) {
  const named = new Set(LAYERS.flatMap(({ rooms }) => (rooms === 'others' ? [] : rooms)))
  const others = [...new Set(arrows.flatMap(({ from, to }) => [from, to]))].filter((room) => !named.has(room)).sort()
  const stray = others.filter((room) => CODE.test(room))
  if (stray.length > 0) throw new Error(`Add ${stray.join(', ')} to a layer of LAYERS in scripts/house.mjs.`)
  const layers = LAYERS.map(({ name, rooms }) => ({ name, rooms: rooms === 'others' ? others : rooms }))
  const floorOf = (/** @type {string} */ room) => layers.findIndex(({ rooms }) => rooms.includes(room))
  return { layers, floorOf, upwards: arrows.filter(({ from, to }) => floorOf(to) > floorOf(from)) }
}

/** Arrows from floor to lower floor that no way through other floors replaces. @param {ReadonlySet<string>} pairs @param {number} floors */
function direct(pairs, floors) {
  const all = Array.from({ length: floors }, (_, floor) => floor)
  /** @type {(from: number, to: number) => boolean} */
  const leads = (from, to) =>
    pairs.has(`${from} ${to}`) || all.some((over) => over < from && over > to && leads(from, over) && leads(over, to))
  return all.flatMap((from) =>
    all
      .filter((to) => pairs.has(`${from} ${to}`))
      .filter((to) => !all.some((over) => over < from && over > to && leads(from, over) && leads(over, to)))
      .map((to) => ({ from, to })),
  )
}

/** The picture: layers, arrows between layers, and each arrow upwards. @param {readonly Arrow[]} arrows @returns {string} */
export function pictureOf(arrows) {
  const { layers, floorOf, upwards } = createHouse(arrows)
  const pairs = new Set(
    arrows
      .map(({ from, to }) => [floorOf(from), floorOf(to)])
      .flatMap(([a = 0, b = 0]) => (a > b ? [`${a} ${b}`] : [])),
  )
  const node = (/** @type {string} */ room) => room.replace(/\W/g, '_')
  const floors = layers.map(({ name, rooms }, floor) =>
    [`  subgraph floor${floor}["${name}"]`, ...rooms.map((room) => `    ${node(room)}["${room}"]`), '  end'].join('\n'),
  )
  const lines = [
    ...floors.reverse(),
    ...direct(pairs, layers.length).map(({ from, to }) => `  floor${from} --> floor${to}`),
    ...upwards.map(({ from, to }) => `  ${node(from)} -. upwards .-> ${node(to)}`),
  ]
  return ['```mermaid', 'flowchart TB', ...lines, '```'].join('\n')
}

/**
 * @param {string} page docs/architecture.md
 * @param {string} picture
 * @returns {string} the page with the picture
 */
export function withPicture(page, picture) {
  return withPart(page, MARKS, `\n\n${picture}\n\n`)
}

/** Whether the code of a file, comments left out, names the capability. @param {string} path @param {string} text @param {RegExp} names */
export function isNamedIn(path, text, names) {
  const isWord = (/** @type {ts.Node} */ node) =>
    ts.isIdentifier(node) || ts.isLiteralExpression(node) || ts.isTemplateLiteralToken(node)
  /** @type {(node: ts.Node) => boolean} */
  const says = (node) =>
    (isWord(node) &&
      !(ts.isStringLiteral(node) && ACTIONS.has(node.text)) &&
      names.test(/** @type {ts.Identifier} */ (node).text)) ||
    ts.forEachChild(node, says) === true
  return says(ts.createSourceFile(path, text, ts.ScriptTarget.Latest))
}

/** @returns {readonly Arrow[]} */
function readArrows() {
  const cruiser = `${root}node_modules/dependency-cruiser/bin/dependency-cruise.mjs`
  const args = [cruiser, '--config', '.dependency-cruiser.mjs', '--output-type', 'json', 'src', 'workers']
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (!stdout.startsWith('{')) throw new Error(`dependency-cruiser made no graph: ${stderr}`)
  return arrowsOf(JSON.parse(stdout).modules)
}

/** @param {readonly Arrow[]} arrows */
function check(arrows) {
  const { upwards } = createHouse(arrows)
  print('arrows between folders', arrows.length)
  print('  of them upwards', upwards.length)
  for (const { from, to } of upwards)
    fail(`${from} imports ${to}, which is in a higher layer (LAYERS in scripts/house.mjs): hand it what it needs.`)
  const page = readFileSync(root + PAGE, 'utf8')
  if (page !== withPicture(page, pictureOf(arrows))) fail(`The picture in ${PAGE} is out of date: run npm run house.`)
  const paths = filesBelow(root, ['src', 'workers', 'scripts'])
  const files = paths
    .filter((path) => !NOT_OURS.test(path) && CODE.test(path))
    .map((path) => ({ path, text: readFileSync(root + path, 'utf8') }))
  for (const [capability, names] of Object.entries(NAMES)) {
    const found = files.filter(
      ({ path, text }) =>
        !path.startsWith(`src/${capability}/`) &&
        !(capability === 'swaps' && NOT_SWAPS.test(path)) &&
        names.test(text) &&
        isNamedIn(path, text, names),
    )
    print(`files outside of ${capability} that name it`, found.length)
    if (process.argv.includes('--files')) for (const { path } of found) console.log(`    ${path}`)
  }
}

/** @param {string} what @param {number} number */
const print = (what, number) => console.log(`${what.padEnd(76)} ${number}`)

/** @param {string} problem */
function fail(problem) {
  console.error(problem)
  process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const arrows = readArrows()
  if (process.argv.includes('--check')) check(arrows)
  else {
    const page = readFileSync(root + PAGE, 'utf8')
    writeFileSync(root + PAGE, withPicture(page, pictureOf(arrows)))
  }
}
