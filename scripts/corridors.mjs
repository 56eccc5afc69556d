/**
 * Prints how many doors the sources have: files on the walk of a transfer, words that its page needs, factories that are
 * called once, types of needs, tiny files, lines. `npm run check:layers` runs it. It fails for a tiny file, and where what
 * it counts from is gone.
 *
 * The walk crosses the log, so it has steps: what one step appends, another process takes up. A file counts if a function
 * of it is on a way from the start of a step to what the step leads to, or is called by a function on the way. Types,
 * constructors (so errors), and functions outside the folders of the walk (`core`, `chain`, `http`, `jobs`, other
 * capabilities) do not count. How calls are followed stands in call-graph.mjs.
 *
 * Of the factories that are named at most once, those that keep nothing between calls only bind arguments: each may be a
 * plain function. factories.mjs says how they are told from those with a cache, a gathering, a timer or an instance: by a
 * rule of thumb.
 *
 *   node scripts/corridors.mjs [--files]     with --files, the words, factories and types too
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { callGraph, isFunction } from './call-graph.mjs'
import { statelessFactories } from './factories.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Where the walk goes. Keys of parties have a walk of their own. */
const WALK = /^src\/(transactions|event-log|follower|compose|keys(?!\/mpc))\//
/** Aggregates of other streams have the same members (`decide`, `evolve`, `project`) as that of transactions. */
const OTHER_STREAMS = /\/(tag-key-aggregate|request-aggregate)\.ts$/

/** The last function of an append: it sends the statement. */
const APPEND = 'append_commits('
/**
 * Starts: functions of this name in this file, or handlers of the route of this path. Goals: functions with this text.
 */
const STEPS = [
  {
    step: 'accept',
    start: ['src/transactions/transfer-routes.ts', '/v1/wallets/:wallet_id/transfer'],
    goals: [APPEND, "'TransferRequested'"],
  },
  {
    step: 'sign',
    start: ['src/transactions/sign-lane.ts', 'signLane'],
    goals: [APPEND, "type: 'TransactionSigned'", 'ecdsaSign('],
  },
  {
    step: 'send',
    start: ['src/transactions/submit-lane.ts', 'submitLane'],
    goals: [APPEND, "type: 'TransactionSubmitted'"],
  },
  {
    step: 'mine and confirm',
    start: ['src/follower/follow-chain.ts', 'followChain'],
    goals: [APPEND, "type: 'TransactionMined'", "type: 'TransactionConfirmed'"],
  },
]

/** The section of docs/architecture.md that says how a transfer is signed; while there is none, the sections that do. */
const SECTION = 'How a transfer is signed'
const SECTIONS = ['Life of a transfer', 'Lanes', 'Partitions']

const FACTORY = /^(create|compose|build)[A-Z]/
const NEEDS = /(Ports|Needs|Parts|Settings|Options)$/
const MOST_LINES = 300
/** Smaller files are tiny. */
const TINY_LINES = 25

/** @typedef {import('./call-graph.mjs').Fn} Fn */
/** @typedef {{ readonly on: ReadonlySet<string>, readonly beside: ReadonlySet<string> }} Walked */

const pathOf = (/** @type {ts.Node} */ node) => node.getSourceFile().fileName.slice(root.length)
const linesOf = (/** @type {string} */ path) => readFileSync(root + path, 'utf8').split('\n').length - 1
const isMade = (/** @type {string} */ path) => /^src\/(generated|contracts\/artifacts)\//.test(path)

function openProgram() {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const names = fileNames.filter((name) => /^(src|workers)\//.test(name.slice(root.length)))
  return ts.createProgram(names, options)
}

/** @param {ts.Program} program */
function ownFiles(program) {
  const files = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(root))
  return files.filter((file) => /^(src|workers)\//.test(pathOf(file)) && !isMade(pathOf(file)))
}

/** @param {ts.Node} node @param {(node: ts.Node) => void} visit */
function walk(node, visit) {
  visit(node)
  ts.forEachChild(node, (child) => walk(child, visit))
}

/** @param {ts.Program} program @param {readonly string[]} start @returns {readonly Fn[]} */
function startsOf(program, [path, name]) {
  /** @type {Fn[]} */
  const found = []
  const file = program.getSourceFile(root + path)
  if (file !== undefined)
    walk(file, (node) => {
      const isRoute = ts.isCallExpression(node) && node.arguments[0]?.getText() === `'${name}'`
      if (isRoute) for (const arg of node.arguments) if (isFunction(arg)) found.push(arg)
      const isNamed = isFunction(node) && ('name' in node.parent ? node.parent : node).name
      if (isFunction(node) && isNamed && isNamed.getText() === name) found.push(node)
    })
  if (found.length === 0) throw new Error(`No function ${name} in ${path}: name the start of this step in STEPS.`)
  return found
}

/**
 * @param {readonly Fn[]} starts
 * @param {readonly string[]} goals
 * @param {(fn: Fn) => ReadonlySet<Fn>} calleesOf
 * @returns {Walked}
 */
function walked(starts, goals, calleesOf) {
  const reached = new Set(starts)
  /** @type {Map<Fn, Fn[]>} */
  const callers = new Map()
  for (const fn of reached)
    for (const callee of calleesOf(fn)) {
      reached.add(callee)
      callers.set(callee, [...(callers.get(callee) ?? []), fn])
    }
  const onWay = new Set()
  for (const goal of goals) {
    const ends = [...reached].filter((fn) => fn.body.getText().includes(goal))
    if (ends.length === 0)
      throw new Error(`No function with ${goal} is reached from ${starts.map(pathOf)}: change STEPS.`)
    for (const end of ends) onWay.add(end)
  }
  for (const fn of onWay) for (const caller of callers.get(fn) ?? []) onWay.add(caller)
  const called = new Set([...onWay].flatMap((fn) => [...calleesOf(fn)]))
  return { on: new Set([...onWay].map(pathOf)), beside: new Set([...called].map(pathOf)) }
}

/** @param {ts.Program} program */
function printWalk(program) {
  const isOn = (/** @type {string} */ path) => WALK.test(path) && !OTHER_STREAMS.test(path)
  const graph = callGraph(program, (name) => name.startsWith(root) && isOn(name.slice(root.length)))
  /** @type {Map<Fn, ReadonlySet<Fn>>} */
  const known = new Map()
  const calleesOf = (/** @type {Fn} */ fn) => {
    const callees = known.get(fn) ?? graph.calleesOf(fn)
    known.set(fn, callees)
    return callees
  }
  const steps = STEPS.map(({ step, start, goals }) => ({ step, ...walked(startsOf(program, start), goals, calleesOf) }))
  const on = new Set(steps.flatMap((one) => [...one.on]))
  const all = new Set(steps.flatMap((one) => [...one.on, ...one.beside]))
  print('files on the walk of a transfer, with those that it calls directly', all.size)
  print('  of them with a function on the way itself', on.size)
  for (const one of steps)
    print(`  ${one.step}`, `${new Set([...one.on, ...one.beside]).size}, ${one.on.size} on the way`)
  console.log('\n  lines  file (* on the way itself)')
  for (const path of [...all].sort()) {
    const lines = linesOf(path)
    console.log(
      `  ${String(lines).padStart(5)}  ${path}${on.has(path) ? ' *' : ''}${lines > MOST_LINES ? '  TOO LONG' : ''}`,
    )
  }
  console.log()
}

/**
 * Words: what is set in code, bold or italics in the sections, and the terms of docs/concepts.md that the text uses.
 */
function printWords() {
  const sections = sectionsOf('docs/architecture.md')
  const texts = sections.has(SECTION) ? [SECTION] : SECTIONS
  const text = texts
    .map((name) => sections.get(name) ?? '')
    .join('\n')
    .replace(/```.*?```/gs, '')
  if (text.trim() === '') throw new Error(`docs/architecture.md has no section ${SECTION}: name it in SECTION.`)
  const marked = [...text.matchAll(/`([^`]+)`|\*{1,2}([^*\n]+)\*{1,2}/g)].map(([, code, bold]) => code ?? bold ?? '')
  const terms = [...sectionsOf('docs/concepts.md').keys()].flatMap((name) => name.toLowerCase().split(' and '))
  const usedTerms = terms.filter((term) => new RegExp(`\\b${term}s?\\b`, 'i').test(text))
  const words = new Set([...marked, ...usedTerms])
  print(`words of architecture.md, ${texts.map((name) => `"${name}"`).join(', ')}`, words.size)
  if (process.argv.includes('--files')) console.log(`  ${[...words].sort().join(', ')}`)
}

/** @param {string} page @returns {Map<string, string>} */
function sectionsOf(page) {
  const parts = readFileSync(root + page, 'utf8').split(/^#{2,} (.*)$/m)
  return new Map(parts.flatMap((text, at) => (at % 2 === 1 ? [[text, parts[at + 1] ?? '']] : [])))
}

/** @param {ts.Program} program @param {readonly ts.SourceFile[]} files */
function printFactories(program, files) {
  const checker = program.getTypeChecker()
  /** @type {Map<ts.Node, number>} */
  const uses = new Map()
  for (const file of files)
    for (const node of file.statements)
      if (ts.isFunctionDeclaration(node) && node.body && FACTORY.test(node.name?.text ?? '')) uses.set(node, 0)
  const count = (/** @type {ts.Node} */ node) => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return
    if (ts.isIdentifier(node) && FACTORY.test(node.text)) {
      const symbol = ts.isShorthandPropertyAssignment(node.parent)
        ? checker.getShorthandAssignmentValueSymbol(node.parent)
        : checker.getSymbolAtLocation(node)
      const target = symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      for (const declaration of target?.declarations ?? [])
        if (uses.has(declaration) && declaration !== node.parent)
          uses.set(declaration, (uses.get(declaration) ?? 0) + 1)
    }
    ts.forEachChild(node, count)
  }
  for (const file of files) count(file)
  const once = [...uses].filter(([, times]) => times <= 1).map(([node]) => node)
  print('factories (create…, compose…, build…)', uses.size)
  const shown = (/** @type {ts.Node} */ node) => `${nameOf(node)}  ${pathOf(node)}`
  printAll('  of them named at most once outside tests', once, shown)
  const keepsNothing = statelessFactories(
    program,
    (name) => name.startsWith(root) && /^(src|workers)\//.test(name.slice(root.length)),
  )
  const stateless = once.filter((node) => isFunction(node) && keepsNothing(node))
  printAll('  of them that keep nothing between calls', stateless, shown)
}

/** @param {readonly ts.SourceFile[]} files */
function printTypes(files) {
  /** @type {ts.Node[]} */
  const types = []
  for (const file of files)
    walk(file, (node) => {
      if ((ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node)) && NEEDS.test(node.name.text))
        types.push(node)
    })
  const lines = types.reduce((sum, node) => sum + node.getText().split('\n').length, 0)
  printAll(
    'types named …Ports, …Needs, …Parts, …Settings, …Options',
    types,
    (node) => `${nameOf(node)}  ${pathOf(node)}`,
  )
  print('  lines of these types', lines)
}

/** @param {ts.Node} node */
const nameOf = (node) => ('name' in node ? /** @type {ts.Node} */ (node.name).getText() : '')

/** @param {ts.Program} program @param {readonly ts.SourceFile[]} files */
function printTiny(program, files) {
  /** @type {Map<string, Set<string>>} */
  const importers = new Map(files.map((file) => [file.fileName, new Set()]))
  for (const file of files)
    walk(file, (node) => {
      const isImport = ts.isStringLiteral(node) && node.text.startsWith('.')
      if (!isImport) return
      const target = ts.resolveModuleName(node.text, file.fileName, program.getCompilerOptions(), ts.sys).resolvedModule
      if (target !== undefined) importers.get(target.resolvedFileName)?.add(file.fileName)
    })
  const folder = (/** @type {string} */ name) => name.slice(0, name.lastIndexOf('/'))
  const tiny = files.filter(({ fileName }) => {
    const [only, ...others] = importers.get(fileName) ?? []
    const isAlone = only !== undefined && others.length === 0 && folder(only) === folder(fileName)
    return isAlone && linesOf(fileName.slice(root.length)) < TINY_LINES
  })
  print(`files under ${TINY_LINES} lines with one importer, in their own folder`, tiny.length)
  for (const file of tiny) console.error(`  ${pathOf(file)} has one importer beside it: write it there`)
  if (tiny.length > 0) process.exitCode = 1
}

/** @param {string} folder @param {RegExp} kind */
function linesUnder(folder, kind) {
  const names = readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`)
  return names.filter((name) => kind.test(name) && !isMade(name)).reduce((sum, name) => sum + linesOf(name), 0)
}

/** @param {string} what @param {string | number} number */
const print = (what, number) => console.log(`${what.padEnd(76)} ${number}`)

/** @template {ts.Node} One @param {string} what @param {readonly One[]} all @param {(one: One) => string} shown */
function printAll(what, all, shown) {
  print(what, all.length)
  if (process.argv.includes('--files')) for (const one of all.map(shown).sort()) console.log(`    ${one}`)
}

const program = openProgram()
const files = ownFiles(program)
printWalk(program)
printWords()
printFactories(program, files)
printTypes(files)
printTiny(program, files)
print('lines of src, of its TypeScript files', linesUnder('src', /\.ts$/))
print('lines of test, of its TypeScript files', linesUnder('test', /\.(ts|mjs)$/))
