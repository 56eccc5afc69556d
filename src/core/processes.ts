/**
 * The processes of Bursar, with all that differs between them. The database roles and users, the sandbox, `stuck` and the checks of
 * docker-compose.yml follow from it. A new process is an entry here and its entry point `workers/<name>.ts`.
 *
 * A process has one name: its entry point, its service under Docker Compose, its heartbeats, its leases, the label `process` of its
 * metrics, and its log lines have it. `databaseRole` is the only other word, where databases had the role before.
 */

/** What its database role may do besides appending the events and reading the tables that declarations grant to it. */
export type ProcessRights = {
  /** The leases that it takes: patterns of LIKE. */
  readonly leases: readonly string[]
  /** Whether it takes the leases of repeated tasks. */
  readonly repeatsTasks?: true
  /** Whether it appends requests of clients, with their idempotency keys. */
  readonly acceptsRequests?: true
  /** The names of its checkpoints. */
  readonly checkpoints?: readonly string[]
  /** Whether it uses the queues, when those are in PostgreSQL. */
  readonly queues: boolean
  /** Whether it may see the transactions that delay readers of the log. */
  readonly sessions?: true
  /** Whether it counts the requests of API keys. */
  readonly requests?: true
  /** Functions that take advisory locks. */
  readonly locks?: readonly ('lock_checkpoints()' | 'try_lock_rotations()')[]
}

export type ProcessDeclaration = {
  /** In PostgreSQL: the role `bursar_<role>`, and the user `bursar_<role>_login`. */
  readonly databaseRole: string
  readonly rights: ProcessRights
  /** Each has a number, and data, a database user and a service of its own: `mpc-party-1`. Any number of the others share a name. */
  readonly numbered?: true
  /** When one must be running; of numbered ones each. */
  readonly needed: 'always' | 'for webhooks' | 'for mpc wallets'
  /** It holds keys or shares, so it verifies hash chains and refuses edited events. */
  readonly verifies?: true
  /** The streams that it keeps in memory, from the version at which a stream is kept. By default none. */
  readonly recentStreams?: { readonly streams: number; readonly fromVersion: number }
  /** Files that nobody else gets, as docker-compose.yml names them. Those of numbered processes have the number for `<n>`. */
  readonly secrets: readonly ('keystore_key' | 'transaction_tag_key' | 'webhook_identity' | 'mpc_party_<n>_key')[]
  readonly sandbox: {
    /** Its file in `dist/bin`, if the name differs. */
    readonly program?: string
    /** On one machine accepting requests has priority: accepted work can wait for the CPU, a caller should not. */
    readonly niceness?: number
    /** Options of Node. */
    readonly options: readonly string[]
  }
}

/**
 * How much memory V8 may use in the sandbox before it collects garbage.
 *
 * Little room for new objects saves memory, for more collections. The API has more: at 4 MB they take up to a third of
 * the CPU of an accepted transfer, and at 8 MB a seventh more than at 16.
 *
 * A worker needs less than 50 MB for old objects. With a limit far below the usual one, V8 collects them when they have
 * grown by half, and not only when they have grown to four times.
 */
const API_HEAP = ['--max-semi-space-size=16'] as const
const WORKER_HEAP = ['--max-semi-space-size=8', '--max-old-space-size=512'] as const
const WORKER = { niceness: 5, options: WORKER_HEAP } as const

/** In the order in which help texts list their database users. */
export const PROCESSES = {
  api: {
    databaseRole: 'api',
    rights: { leases: [], acceptsRequests: true, queues: true, sessions: true, requests: true },
    needed: 'always',
    // It needs not read a long stream for each change, such as that of a wallet whose label was changed thousands of times.
    recentStreams: { streams: 1_000, fromVersion: 20 },
    secrets: [],
    // With the faucet.
    sandbox: { program: 'sandbox-api', options: API_HEAP },
  },
  dispatcher: {
    databaseRole: 'dispatcher',
    rights: { leases: ['dispatcher', 'sweeper'], repeatsTasks: true, checkpoints: ['dispatcher'], queues: true },
    needed: 'always',
    secrets: [],
    sandbox: WORKER,
  },
  signer: {
    databaseRole: 'signer',
    rights: { leases: ['sign-%', 'mpc-pool'], queues: true, locks: ['try_lock_rotations()'] },
    needed: 'always',
    verifies: true,
    secrets: ['keystore_key', 'transaction_tag_key'],
    sandbox: WORKER,
  },
  submitter: {
    databaseRole: 'submitter',
    rights: { leases: ['submit-%'], queues: true },
    needed: 'always',
    secrets: [],
    sandbox: WORKER,
  },
  'chain-follower': {
    databaseRole: 'follower',
    rights: { leases: ['follow-%'], queues: true },
    needed: 'always',
    // It writes a transaction twice, at its block and some blocks later: about 4 KB each.
    recentStreams: { streams: 4_000, fromVersion: 1 },
    secrets: [],
    sandbox: WORKER,
  },
  auditor: {
    databaseRole: 'auditor',
    rights: { leases: ['auditor'], queues: false, locks: ['lock_checkpoints()'] },
    needed: 'always',
    secrets: [],
    sandbox: WORKER,
  },
  'webhook-sender': {
    databaseRole: 'sender',
    rights: { leases: ['webhook-%', 'webhooks'], checkpoints: ['webhooks'], queues: true },
    needed: 'for webhooks',
    secrets: ['webhook_identity'],
    // What is told of the work waits longest.
    sandbox: { niceness: 10, options: WORKER_HEAP },
  },
  'mpc-party': {
    databaseRole: 'party',
    rights: { leases: [], queues: false, locks: ['try_lock_rotations()'] },
    numbered: true,
    needed: 'for mpc wallets',
    verifies: true,
    secrets: ['mpc_party_<n>_key', 'transaction_tag_key'],
    sandbox: WORKER,
  },
} as const satisfies Readonly<Record<string, ProcessDeclaration>>

export type ProcessKind = keyof typeof PROCESSES
type NumberedKind = {
  [Kind in ProcessKind]: (typeof PROCESSES)[Kind] extends { readonly numbered: true } ? Kind : never
}[ProcessKind]
/** The name of a process. A numbered one whose settings do not say which it is has no number. */
export type ProcessName = Exclude<ProcessKind, NumberedKind> | `${NumberedKind}-${number | 'unset'}`

/** Every process with its kind. */
export const PROCESS_LIST: readonly ({ readonly kind: ProcessKind } & ProcessDeclaration)[] = Object.entries(
  PROCESSES,
).map(([kind, declared]) => ({ kind: kind as ProcessKind, ...declared }))

/** What is declared of the process of a name; undefined for commands, and for other programs. */
export function processNamed(name: string): (typeof PROCESS_LIST)[number] | undefined {
  return PROCESS_LIST.find(({ kind, numbered }) => kind === (numbered ? name.replace(/-\d+$/, '') : name))
}
