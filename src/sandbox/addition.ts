/** What the sandbox prepares for a capability, beside what every process and every chain has. Types alone. */
import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import type { ProcessKind } from '../core/processes.ts'
import type { Deployment } from './deploy.ts'

/** Addresses of contracts by their names. */
export type Addresses = Readonly<Record<string, string>>

/** What every local chain has. */
export type ChainContracts = {
  readonly multicall3: string
  /** A token with 6 decimals. */
  readonly usdc: string
  /** A token with 6 decimals and the rules of USDT on Ethereum. */
  readonly usdt: string

  /** The native currency as a token: its symbol has a W in front. */
  readonly wrappedNative: string
  /** The prices in US dollars of the native currency and of the two tokens. */
  readonly nativeFeed: string
  readonly usdcFeed: string
  readonly usdtFeed: string
}

/** A token of a local chain. */
export type ChainToken = {
  readonly address: string
  readonly decimals: number
  /** In US dollars, with eight decimals. */
  readonly price: bigint
  /** Sends the transaction that gives the owner an amount of the token. */
  readonly supply: (amount: bigint) => Promise<void>
}

/** The native currency as a token, USDC and USDT. */
export type ChainTokens = readonly [native: ChainToken, usdc: ChainToken, usdt: ChainToken]

export type AddedContracts = {
  /** @param packages finds packages that an installation may lack: their contracts are then left out */
  readonly plan: (wrappedNative: string, packages: NodeJS.Require) => Readonly<Record<string, Deployment>>
  /** Sends what the deployed contracts need; the next block has it. Called at every start of a chain. */
  readonly fill?: (url: string, contracts: Addresses, tokens: ChainTokens) => Promise<void>
}

/** The settings of processes. */
export type AddedSettings = {
  /** For every process. */
  readonly env: Readonly<Record<string, string>>
  /** For the processes that have a secret, by its setting. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** The processes of each kind that runs once for each number. */
  readonly numbered?: Readonly<
    Partial<Record<ProcessKind, readonly { readonly name: string; readonly env: Readonly<Record<string, string>> }[]>>
  >
}

export type Addition = {
  /** Whether the settings have it; by default they do. */
  readonly isOn?: (config: Config) => boolean
  /** What every local chain has for it. Loaded by the process that sets chains up. */
  readonly contracts?: () => Promise<AddedContracts>
  /** The settings of a chain with these contracts, without the network in front. */
  readonly chainEnv?: (contracts: ChainContracts, added: Addresses) => Readonly<Record<string, string>>
  /** What a chain lacks, for the user; `null` if it lacks nothing. */
  readonly lacks?: (added: Addresses) => string | null
  /** Creates what the first start creates. */
  readonly settings?: (config: Config) => Promise<AddedSettings>
  /** Waits until a user can use it, for a limited time. Never rejects. */
  readonly ready?: (pool: Pool, config: Config) => Promise<void>
  /** What a user can paste beside watching events. */
  readonly listening?: (baseUrl: string, apiKey: string) => string
  /** What a user can paste after the first transfer, if the chains lack nothing. */
  readonly trying?: string
}
