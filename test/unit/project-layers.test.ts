// Checks the layers: the project follows them, and each rule of .dependency-cruiser.mjs is seen to fire. A rule that
// matches nothing, because a folder was renamed, fails here too.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

type Dependency = { readonly resolved: string; readonly typeOnly?: boolean }
type Module = { readonly source: string; readonly dependencies: readonly Dependency[] }
type Violation = { readonly from: string; readonly to: string; readonly rule: { readonly name: string } }
type Cruise = { readonly modules: readonly Module[]; readonly summary: { readonly violations: readonly Violation[] } }

type Config = {
  readonly USES: Readonly<Record<string, readonly string[]>>
  readonly default: {
    readonly forbidden: readonly { readonly name: string; readonly from: { readonly path?: string } }[]
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const configPath = join(root, '.dependency-cruiser.mjs')
const cruiser = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs')

function cruise(cwd: string, folders: readonly string[]): Cruise {
  const args = [cruiser, '--config', configPath, '--output-type', 'json', ...folders]
  try {
    return JSON.parse(execFileSync(process.execPath, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 }))
  } catch (error) {
    const { stdout } = error as { stdout?: string }
    if (!stdout?.startsWith('{')) throw error
    return JSON.parse(stdout) // The exit code counts the violations.
  }
}

/** The modules that deciders and aggregates must be in. */
async function readPure(): Promise<RegExp> {
  const { default: config } = (await import(configPath)) as Config
  const { path = '' } = config.forbidden.find(({ name }) => name === 'deciders-and-aggregates-are-pure')?.from ?? {}
  return new RegExp(path)
}

/** Clocks, randomness and I/O that need no import. */
const GLOBALS =
  /\bDate\.now\b|\bnew Date\b(?!\([^)])|(?<!new )\bDate\(|\bMath\.random\b|\b(?:performance|crypto|process)\.|\b(?:setTimeout|setInterval|setImmediate|fetch)\(/g

/** Uses of such globals in modules that are pure, and in what these run, directly or through others. */
async function readImpurities(cwd: string, { modules }: Cruise): Promise<readonly string[]> {
  const pure = await readPure()
  const bySource = new Map(modules.map((module) => [module.source, module]))
  const reached = new Set(
    [...bySource.keys()].filter((source) => pure.test(source) && !source.startsWith('src/sandbox/')),
  )
  for (const source of reached)
    for (const { resolved, typeOnly } of bySource.get(source)?.dependencies ?? [])
      if (!typeOnly && resolved.startsWith('src/')) reached.add(resolved)
  return [...reached].flatMap((source) => {
    const code = readFileSync(join(cwd, source), 'utf8').replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
    return [...code.matchAll(GLOBALS)].map(([use]) => `${source}: ${use}`)
  })
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('generated'))
    .map((path) => `${folder}/${path}`)
}

/** An existing module of the folder, as the planted file would import it. */
function moduleIn(folder: string, from: string): string {
  const found = sources(folder)[0]
  if (found === undefined) throw new Error(`${folder} holds no module: the rules speak of a folder that is gone`)
  return relative(dirname(from), found).replace(/^(?!\.)/, './')
}

type Plant = { readonly rule: string; readonly at: string; readonly imports: string }

function ours(rule: string, at: string, folder: string): Plant {
  return { rule, at, imports: moduleIn(folder, at) }
}

const PLANTS: readonly Plant[] = [
  { rule: 'core-imports-nothing', at: 'src/core/planted-node.ts', imports: 'node:crypto' },
  { rule: 'core-imports-nothing', at: 'src/core/planted-npm.ts', imports: 'uuid' },
  ours('core-imports-nothing', 'src/core/planted-ours.ts', 'src/keys'),
  ours('kernel-imports-core-alone', 'src/keys/planted.ts', 'src/chain'),
  ours('kernel-imports-core-alone', 'src/chain/planted.ts', 'src/event-log'),
  ours('kernel-imports-core-alone', 'src/event-log/planted.ts', 'src/jobs'),
  ours('kernel-imports-core-alone', 'src/jobs/planted.ts', 'src/transactions'),
  {
    rule: 'only-compose-reads-the-list-of-declarations',
    at: 'src/jobs/planted-queues.ts',
    imports: '../declarations.ts',
  },
  {
    rule: 'only-compose-reads-the-list-of-declarations',
    at: 'src/balances/planted-ids.ts',
    imports: '../declarations.ts',
  },
  {
    rule: 'only-compose-reads-the-list-of-declarations',
    at: 'src/transactions/planted-kinds.ts',
    imports: '../declarations.ts',
  },
  ours('kernel-imports-core-alone', 'src/event-log/planted-app.ts', 'src/compose'),
  ours('kernel-imports-core-alone', 'src/chain/planted-swaps.ts', 'src/swaps'),
  ours('capability-imports-what-it-names', 'src/balances/planted.ts', 'src/access'),
  ours('capability-imports-what-it-names', 'src/wallets/planted.ts', 'src/balances'),
  ours('capability-imports-what-it-names', 'src/webhooks/planted.ts', 'src/transactions'),
  ours('capability-imports-what-it-names', 'src/swaps/planted-app.ts', 'src/compose'),
  ours('every-capability-is-named', 'src/planted/planted.ts', 'src/wallets'),
  ours('deciders-events-and-states-import-core-alone', 'src/wallets/planted-decider.ts', 'src/event-log'),
  { rule: 'deciders-events-and-states-import-core-alone', at: 'src/wallets/planted-events.ts', imports: 'node:crypto' },
  { rule: 'deciders-and-aggregates-are-pure', at: 'src/wallets/planted-aggregate.ts', imports: '../event-log/log.ts' },
  { rule: 'deciders-and-aggregates-are-pure', at: 'src/nft/tokens/planted-state.ts', imports: 'node:fs' },
  { rule: 'deciders-and-aggregates-are-pure', at: 'src/core/planted-events.ts', imports: './planted-clock.ts' },
  ours('http-imports-core', 'src/http/planted-keys.ts', 'src/keys'),
  { rule: 'http-imports-core', at: 'src/http/planted-log.ts', imports: '../event-log/log.ts' },
  ours('cli-imports-core', 'src/cli/planted.ts', 'src/operator'),
  ours('config-imports-core', 'src/config/planted.ts', 'src/event-log'),
  ours('settings-import-core', 'src/access/settings.ts', 'src/event-log'),
  ours('config-is-for-settings', 'src/wallets/planted-config.ts', 'src/config'),
  { rule: 'no-circles-of-folders-in-nft', at: 'src/nft/metadata/planted.ts', imports: '../tokens/mint-events.ts' },
  ours('declarations-are-data', 'src/replay/declaration.ts', 'src/jobs'),
  ours('http-is-for-routes', 'src/wallets/planted-use-case.ts', 'src/http'),
  { rule: 'http-is-for-routes', at: 'src/wallets/planted-body.ts', imports: './schemas.ts' },
  { rule: 'http-is-for-routes', at: 'src/nft/tokens/planted-nested.ts', imports: '../collections/schemas.ts' },
  { rule: 'http-is-for-routes', at: 'src/wallets/planted-fastify.ts', imports: 'fastify' },
  { rule: 'views-take-types-of-schemas', at: 'src/wallets/planted-view.ts', imports: './schemas.ts' },
  ours('composition-is-for-entry-points', 'src/wallets/planted-reach.ts', 'src/compose'),
  ours('nobody-imports-an-entry-point', 'src/jobs/planted-worker.ts', 'workers'),
  { rule: 'nobody-imports-an-entry-point', at: 'src/http/planted-main.ts', imports: '../main.ts' },
  ours('tests-start-entry-points', 'test/planted.ts', 'workers'),
  { rule: 'tests-start-entry-points', at: 'test/planted-api.ts', imports: '../src/sandbox/api.ts' },
  ours('sandbox-stands-apart', 'src/chain/planted-sandbox.ts', 'src/sandbox'),
  { rule: 'only-the-sandbox-carries-binaries', at: 'src/chain/planted-anvil.ts', imports: '@foundry-rs/anvil' },
  { rule: 'only-jobs-knows-bullmq', at: 'src/transactions/planted-queue.ts', imports: 'bullmq' },
  { rule: 'only-the-edges-know-ethers', at: 'src/transactions/planted-ethers.ts', imports: 'ethers' },
  { rule: 'no-cycles', at: 'src/core/planted-cycle.ts', imports: './planted-half.ts' },
  { rule: 'production-needs-no-dev-dependency', at: 'src/http/planted-dev.ts', imports: 'fast-check' },
  { rule: 'every-package-is-declared', at: 'src/http/planted-undeclared.ts', imports: 'semver' },
  { rule: 'every-import-resolves', at: 'src/http/planted-nowhere.ts', imports: './nowhere.ts' },
]

t.test('every module of the project keeps to the layers', async (t) => {
  const cruised = cruise(root, ['src', 'workers', 'test'])
  const { modules, summary } = cruised
  const judged = new Set(modules.map((module) => module.source))
  const expected = ['src', 'workers', 'test'].flatMap(sources)
  t.ok(expected.length > 50, 'the project has more than 50 modules')
  t.strictSame(
    expected.filter((path) => !judged.has(path)),
    [],
    'every module is covered by the rules',
  )
  t.ok(
    modules.some((module) => module.dependencies.length > 0),
    'dependency-cruiser finds imports',
  )
  t.strictSame(
    summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`),
    [],
  )
  t.strictSame(await readImpurities(root, cruised), [], 'deciding takes no clock, no random and no I/O')
})

t.test('a capability names another one only if it uses it', async (t) => {
  const { USES } = (await import(configPath)) as Config
  const { modules } = cruise(root, ['src'])
  const folderOf = (path: string) => /^src\/([^/]+)\//.exec(path)?.[1] ?? ''
  const used = new Set(
    modules.flatMap(({ source, dependencies }) =>
      dependencies.map(({ resolved }) => `${folderOf(source)} uses ${folderOf(resolved)}`),
    ),
  )
  const named = Object.entries(USES).flatMap(([folder, uses]) => uses.map((other) => `${folder} uses ${other}`))
  t.ok(named.length > 20, 'the table names more than 20 pairs')
  t.strictSame(
    named.filter((pair) => !used.has(pair)),
    [],
  )
})

t.test('every module with a decider or an aggregate is guarded as one', async (t) => {
  const pure = await readPure()
  const declares = /^(export )?const \w+: (Aggregate|Decider)</m
  const found = sources('src').filter((source) => declares.test(readFileSync(join(root, source), 'utf8')))
  t.ok(found.length > 20, 'more than 20 deciders and aggregates are found')
  t.strictSame(
    found.filter((source) => !pure.test(source)),
    [],
  )
})

t.test('a planted import of each forbidden kind is reported', async (t) => {
  // Inside the project's folder, so that packages resolve as they do in the project.
  const copy = t.testdir()
  for (const entry of ['src', 'workers', 'test/support', 'tsconfig.json', 'package.json'])
    cpSync(join(root, entry), join(copy, entry), { recursive: true, filter: (path) => !path.includes('src/generated') })
  mkdirSync(join(copy, 'src/planted'))
  for (const { at, imports } of PLANTS) writeFileSync(join(copy, at), `export * as planted from '${imports}'\n`)
  writeFileSync(join(copy, 'src/core/planted-half.ts'), "export * as planted from './planted-cycle.ts'\n")
  writeFileSync(join(copy, 'src/core/planted-clock.ts'), "export * as planted from 'node:perf_hooks'\n")

  writeFileSync(join(copy, 'src/wallets/timed-decider.ts'), 'export const decidedAt = new Date()\n')
  writeFileSync(join(copy, 'src/wallets/chance-aggregate.ts'), "export * as planted from '../core/chance.ts'\n")
  writeFileSync(join(copy, 'src/core/chance.ts'), 'export const chance = () => Math.random() < 0.5\n')

  const cruised = cruise(copy, ['src', 'workers', 'test'])
  const { violations } = cruised.summary
  const impurities = await readImpurities(copy, cruised)
  for (const use of ['src/wallets/timed-decider.ts: new Date', 'src/core/chance.ts: Math.random'])
    t.ok(impurities.includes(use), `deciding takes no ${use}`)
  for (const { rule, at, imports } of PLANTS)
    t.ok(
      violations.some((violation) => violation.rule.name === rule && [at, dirname(at)].includes(violation.from)),
      `${rule}: ${at} imports ${imports}`,
    )

  const { default: config } = (await import(configPath)) as Config
  const planted = new Set(PLANTS.map(({ rule }) => rule))
  t.strictSame(
    config.forbidden.map(({ name }) => name).filter((name) => !planted.has(name)),
    [],
    'every rule has a planted import',
  )
})
