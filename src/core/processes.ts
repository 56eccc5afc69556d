/**
 * The processes of Bursar, with all that differs between them. The database roles and users, the sandbox and `stuck` follow from it;
 * `npm run processes` writes the services of docker-compose.yml, the database users of scripts/make-secrets.sh and the table of
 * docs/architecture.md. A new process is an entry here and its entry point `workers/<name>.ts`.
 *
 * A process has one name: its entry point, its service under Docker Compose, its heartbeats, the label `process` of its metrics, and
 * its log lines have it. `databaseRole` is the only other word, where databases had the role before.
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

/** A service of docker-compose.yml, beside what all services have. */
type ServiceDeclaration = {
  /** Lines above it. */
  readonly comment?: string
  /** Options of Node. */
  readonly options?: string
  /** Whether it gets the addresses and certificates of the mpc parties. */
  readonly knowsParties?: true
  /** Null for what `.env` says, if anything. */
  readonly settings?: Readonly<Record<string, string | null>>
  /** Without `queue` it gets no Redis, and does not wait for it. */
  readonly networks: readonly string[]
  readonly volumes?: readonly string[]
}

export type ProcessDeclaration = {
  /** For docs/architecture.md. */
  readonly does: string
  readonly howMany: string
  /** In PostgreSQL: the role `bursar_<role>`, and the user `bursar_<role>_login`. */
  readonly databaseRole: string
  readonly rights: ProcessRights
  /** Each has a number, and data, a database user and a service of its own: `mpc-party-1`. Any number of the others share a name. */
  readonly numbered?: true
  /** When one must be running; of numbered ones each. */
  readonly needed: 'always' | 'for its capability' | 'for mpc wallets'
  /** It holds keys or shares, so it verifies hash chains and refuses edited events. */
  readonly verifies?: true
  /** The streams that it keeps in memory, from the version at which a stream is kept. By default none. */
  readonly recentStreams?: { readonly streams: number; readonly fromVersion: number }
  /**
   * Its own secrets: the settings, each with the file that docker-compose.yml has for it. `<n>` is the number of a numbered process,
   * here and below.
   */
  readonly secrets: Readonly<Record<string, string>>
  readonly service: ServiceDeclaration
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
const NETWORKS = ['database', 'queue', 'nodes'] as const
const IPFS = { IPFS_API_URL: null, IPFS_API_AUTHORIZATION: null } as const
const TRUST = './mpc-trust:/mpc-trust:ro'
const WORKER = { niceness: 5, options: WORKER_HEAP } as const

/** In the order in which help texts list their database users. */
export const PROCESSES = {
  api: {
    does: 'checks requests, appends events, answers reads',
    howMany: 'any number',
    databaseRole: 'api',
    rights: { leases: [], acceptsRequests: true, queues: true, sessions: true, requests: true },
    needed: 'always',
    // It needs not read a long stream for each change, such as that of a wallet whose label was changed thousands of times.
    recentStreams: { streams: 1_000, fromVersion: 20 },
    secrets: {},
    service: {
      comment:
        'With the 4 MB of the workers, garbage collection takes up to a third of the CPU of an accepted transfer.\n' +
        "TRUSTED_PROXIES are Caddy's addresses: no other container in the network `edge` sends requests.",
      options: '--max-semi-space-size=16',
      settings: {
        PORT: '3000',
        TRUSTED_PROXIES: 'uniquelocal',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: Docker Compose replaces it.
        RATE_LIMIT_PER_SECOND: '${RATE_LIMIT_PER_SECOND:-100}',
        QUOTA_WALLETS: null,
        QUOTA_WATCHED_ADDRESSES: null,
        QUOTA_ASSETS: null,
        QUOTA_WEBHOOKS: null,
        QUOTA_API_KEYS: null,
        QUOTA_TRANSACTIONS_WAITING: null,
        QUOTA_CEREMONIES: null,
        QUOTA_REQUESTS_IN_FLIGHT: null,
        QUOTA_BYTES_PER_SECOND: null,
        QUOTA_OVERRIDES: null,
        ...IPFS,
        METADATA_BASE_URL: null,
        EXPORT_RECIPIENTS: null,
        SIGN_SPENDING_TYPED_DATA: null,
        WEBHOOK_RECIPIENT: null,
      },
      networks: ['edge', ...NETWORKS],
    },
    // With the faucet.
    sandbox: { program: 'sandbox-api', options: API_HEAP },
  },
  dispatcher: {
    does: 'turns events into jobs; finds unfinished work and queues it again',
    howMany: 'one leads, others wait',
    databaseRole: 'dispatcher',
    rights: { leases: ['dispatcher', 'sweeper'], repeatsTasks: true, checkpoints: ['dispatcher'], queues: true },
    needed: 'always',
    secrets: {},
    service: { settings: { ...IPFS, MPC_REFRESH_INTERVAL_DAYS: null }, networks: NETWORKS },
    sandbox: WORKER,
  },
  signer: {
    does: 'makes keys, gives out nonces, signs',
    howMany: 'any number, of which 16 sign for lanes',
    databaseRole: 'signer',
    rights: { leases: ['sign-%', 'mpc-pool'], queues: true, locks: ['try_lock_rotations()'] },
    needed: 'always',
    verifies: true,
    secrets: { KEYSTORE_KEY: 'keystore_key', TRANSACTION_TAG_KEY: 'transaction_tag_key' },
    service: {
      comment: 'The only service with whole keys: no other one gets the key-encryption key or the keystore.',
      knowsParties: true,
      settings: { KEYSTORE_DIR: '/keystore', EXPORT_RECIPIENTS: null },
      networks: [...NETWORKS, 'parties'],
      volumes: ['keystore:/keystore', TRUST],
    },
    sandbox: WORKER,
  },
  submitter: {
    does: 'sends signed bytes to nodes',
    howMany: 'any number, of which 16 send',
    databaseRole: 'submitter',
    rights: { leases: ['submit-%'], queues: true },
    needed: 'always',
    secrets: {},
    service: { networks: NETWORKS },
    sandbox: WORKER,
  },
  'chain-follower': {
    does: 'walks blocks; records inclusions, outcomes and balances',
    howMany: 'one leads for each chain',
    databaseRole: 'follower',
    rights: { leases: ['follow-%'], queues: true },
    needed: 'always',
    // It writes a transaction twice, at its block and some blocks later: about 4 KB each.
    recentStreams: { streams: 4_000, fromVersion: 1 },
    secrets: {},
    service: { networks: NETWORKS },
    sandbox: WORKER,
  },
  auditor: {
    does: 'builds the Merkle tree of the log and signs its root',
    howMany: 'one leads, others wait',
    databaseRole: 'auditor',
    rights: { leases: ['auditor'], queues: false, locks: ['lock_checkpoints()'] },
    needed: 'always',
    secrets: {},
    service: {
      comment:
        'The only service with the key that signs the log. Copy the checkpoint file to another machine: docs/audit.md.',
      settings: {
        AUDIT_KEY_FILE: '/audit/audit.key',
        AUDIT_CHECKPOINT_FILE: '/audit/checkpoints',
        AUDIT_ORIGIN: null,
        AUDIT_CHECKPOINT_INTERVAL_MS: null,
      },
      networks: NETWORKS,
      volumes: ['audit:/audit'],
    },
    sandbox: WORKER,
  },
  'webhook-sender': {
    does: 'decides what is sent to webhooks; signs and sends it',
    howMany: 'any number, of which one decides',
    databaseRole: 'sender',
    rights: { leases: ['webhook-%', 'webhooks'], checkpoints: ['webhooks'], queues: true },
    needed: 'for its capability',
    secrets: { WEBHOOK_IDENTITY: 'webhook_identity' },
    service: {
      comment: 'The only service that can sign deliveries to webhooks. Run any number of it.',
      settings: { WEBHOOK_PROXY_URL: null },
      networks: ['database', 'queue', 'receivers'],
    },
    // What is told of the work waits longest.
    sandbox: { niceness: 10, options: WORKER_HEAP },
  },
  'mpc-party': {
    does: 'holds its shares of mpc keys; signs together with other parties',
    howMany: '3 by default',
    databaseRole: 'party',
    rights: { leases: [], queues: false, locks: ['try_lock_rotations()'] },
    numbered: true,
    needed: 'for mpc wallets',
    verifies: true,
    secrets: { MPC_PARTY_KEY: 'mpc_party_<n>_key', TRANSACTION_TAG_KEY: 'transaction_tag_key' },
    service: {
      comment:
        'The mpc parties, in the profile "mpc": COMPOSE_PROFILES in .env. Exactly one process for each, so never scale them.\n' +
        'They reach PostgreSQL, the signers and nodes of the chains, but neither Redis nor the API. On one host they protect against\n' +
        'an attacker who reads one of these volumes or keys, but not against root on the host: for that, run each on a separate\n' +
        'machine.',
      knowsParties: true,
      settings: { MPC_PARTY: '<n>', MPC_PARTY_DIR: '/mpc-party' },
      networks: ['party-database', 'parties', 'party-nodes'],
      volumes: ['mpc-party-<n>:/mpc-party', TRUST],
    },
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
  const kindOfNumbered = /^(.+)-\d+$/.exec(name)?.[1]
  return PROCESS_LIST.find(({ kind, numbered }) => kind === (numbered ? kindOfNumbered : name))
}
