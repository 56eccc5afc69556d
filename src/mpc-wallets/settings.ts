/**
 * The settings of mpc wallets: how many parties there are, where they listen, and what a party process needs for
 * itself.
 */
import { join, resolve } from 'node:path'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { declareSettings } from '../config/declare-settings.ts'
import { ruleOf } from '../config/read-setting.ts'
import { list, milliseconds, text } from '../config/schema-kinds.ts'

const MPC_SETTINGS = {
  MPC_PARTIES: Type.Integer({
    minimum: 0,
    maximum: 20,
    default: 3,
    description: 'Number of parties that hold shares of each mpc wallet. 0 turns mpc wallets off.',
    'x-rule': 'must be 0, or a whole number from 2 to 20',
  }),
  MPC_THRESHOLD: Type.Integer({
    minimum: 2,
    maximum: 20,
    default: 2,
    description:
      'Default number of parties that sign together. It must be more than half of `MPC_PARTIES`. A request can set another number.',
  }),
  MPC_POOL_SIZE: Type.Integer({
    minimum: 0,
    maximum: 100,
    default: 4,
    description:
      'Number of mpc keys that are created in advance, so that new wallets get their address immediately. 0 turns this off.',
  }),
  MPC_REFRESH_INTERVAL_DAYS: Type.Integer({
    minimum: 0,
    maximum: 3_650,
    default: 30,
    description: 'Age in days at which the shares of an mpc wallet are refreshed. 0 turns this off.',
  }),
  MPC_PARTY_ADDRESSES: list('^[1-9][0-9]?=[^=\\s]+:[0-9]{1,5}$', 'must be a comma-separated list of number=host:port', {
    description:
      'Addresses of the parties: `1=host:port,2=host:port,3=host:port`. If it is not set, mpc wallets cannot sign.',
  }),
  MPC_TRUST_DIR: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'Directory with the certificates of the parties and the coordinator. The default is `$DATA_DIR/mpc/trust`.',
    }),
  ),
  MPC_PARTY: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 20, description: 'Mpc parties only: the number of this party.' }),
  ),
  MPC_PARTY_DIR: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'Mpc parties only: directory with the shares of this party. The default is `$DATA_DIR/mpc/party-<number>`.',
    }),
  ),
  MPC_PARTY_KEY: text('^[A-Za-z0-9+/]{43}=$', 'must be 32 bytes in base64: create one with openssl rand -base64 32', {
    description:
      'Mpc parties only: the key that encrypts the shares of this party. Each party needs its own key. If it is not set, the party creates one on its first ' +
      'start, in its directory.',
    'x-secret': true,
  }),
  MPC_ROUND_TIMEOUT_MS: milliseconds(
    { minimum: 100, maximum: 120_000, default: 10_000 },
    'Timeout for a party in one round of a signature.',
  ),
}

type MpcInput = Static<TObject<typeof MPC_SETTINGS>>
type PartyAddress = { readonly host: string; readonly port: number }

export type MpcConfig = {
  readonly parties: number
  readonly threshold: number
  readonly poolSize: number
  /** Null when shares may reach any age. */
  readonly refreshIntervalDays: number | null
  /** Where the parties listen, by number; null when none can be reached. */
  readonly addresses: ReadonlyMap<number, PartyAddress> | null
  readonly trustDir: string
  readonly roundTimeoutMs: number
  /** Of a party process. `key` is base64, null when it is kept in the directory. */
  readonly party: { readonly number: number; readonly directory: string; readonly key: string | null } | null
}

/** @returns null when there are no mpc wallets */
function mpcConfig(input: MpcInput, dataDir: string): MpcConfig | null {
  if (input.MPC_PARTIES === 0) return null
  const { MPC_PARTY: number } = input
  return {
    parties: input.MPC_PARTIES,
    threshold: input.MPC_THRESHOLD,
    poolSize: input.MPC_POOL_SIZE,
    refreshIntervalDays: input.MPC_REFRESH_INTERVAL_DAYS || null,
    addresses: input.MPC_PARTY_ADDRESSES === undefined ? null : addressesOf(input.MPC_PARTY_ADDRESSES),
    trustDir: resolve(input.MPC_TRUST_DIR ?? join(dataDir, 'mpc', 'trust')),
    roundTimeoutMs: input.MPC_ROUND_TIMEOUT_MS,
    party:
      number === undefined
        ? null
        : {
            number,
            directory: resolve(input.MPC_PARTY_DIR ?? join(dataDir, 'mpc', `party-${number}`)),
            key: input.MPC_PARTY_KEY ?? null,
          },
  }
}

/**
 * Settings that contradict each other. A setting that is invalid alone is not checked against others; nothing is
 * checked when mpc is off.
 */
function mpcProblems(input: Partial<MpcInput>): string[] {
  const { MPC_PARTIES: parties, MPC_THRESHOLD: threshold, MPC_PARTY: party } = input
  if (parties === 1) return [`MPC_PARTIES ${ruleOf(MPC_SETTINGS.MPC_PARTIES)}, not "1"`]
  if (!parties) return []
  const problems: string[] = []
  if (threshold !== undefined && threshold > parties) {
    problems.push(`MPC_THRESHOLD must be at most MPC_PARTIES, which is ${parties}, not ${threshold}`)
  }
  if (threshold !== undefined && 2 * threshold <= parties) {
    problems.push(`MPC_THRESHOLD must be more than half of MPC_PARTIES, which is ${parties}, not ${threshold}`)
  }
  if (party !== undefined && party > parties) {
    problems.push(`MPC_PARTY must be at most MPC_PARTIES, which is ${parties}, not ${party}`)
  }
  const addresses = input.MPC_PARTY_ADDRESSES
  if (addresses === undefined) return problems
  const known = addressesOf(addresses)
  const missing = Array.from({ length: parties }, (_, index) => index + 1).filter((number) => !known.has(number))
  if (missing.length > 0)
    problems.push(`MPC_PARTY_ADDRESSES must name every party, but ${missing.join(', ')} is missing`)
  return problems
}

function addressesOf(texts: readonly string[]): Map<number, PartyAddress> {
  return new Map(
    texts.map((text) => {
      const [number = '', address = ''] = text.split('=')
      const colon = address.lastIndexOf(':')
      return [Number(number), { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }]
    }),
  )
}

export const mpcSettings = {
  mpc: declareSettings({
    group: 'keys',
    settings: MPC_SETTINGS,
    read: (values, { dataDir }) => mpcConfig(values, dataDir),
    problems: mpcProblems,
    signsFromLog: ({ MPC_PARTY }) => MPC_PARTY !== undefined,
  }),
}

declare module '../config.ts' {
  interface CapabilityConfig {
    /** Null when there are no mpc wallets. */
    readonly mpc: MpcConfig | null
  }
}
