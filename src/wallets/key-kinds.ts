/**
 * Kinds of keys: who may use a key, and what makes and uses keys in signers. A capability gives a kind; a wallet with a key
 * of a kind that none gives is unfit, gets no key, and nothing signs for it.
 */
import type { Context } from '../context.ts'
import type { Kek } from '../keys/kek.ts'
import type { Keystore } from '../keys/keystore.ts'
import type { JointKey } from '../keys/mpc/ceremonies.ts'
import type { Signer } from '../keys/signer.ts'
import type { WalletKey } from './events.ts'
import type { KeyProblemsOf } from './wallet-facts.ts'

/** The keys of one kind in a signer. */
export type HeldKeys = {
  readonly signer: Signer
  /** Creates the key of a wallet, or does nothing if it has one. @throws Unavailable when none can be created now */
  readonly makeKey: (walletId: string) => Promise<void>
  /**
   * Begins what the keys need beside that. Returns what ends it: it takes no new work, and waits for the started work.
   *
   * @param signal aborts when the process is stopping
   */
  readonly start: (signal: AbortSignal) => () => Promise<void>
  readonly close: () => Promise<void>
}

/** A party whose shares are on this machine. */
type PartyHere = {
  readonly party: number
  readonly kek: Kek
  /** The share of the epoch in the log; `undefined` when the party has none. @throws Unavailable when it cannot be opened */
  readonly load: (key: JointKey) => Promise<Uint8Array | undefined>
}

/** What recovery kits have of keys that parties share. */
export type SharedKeys = {
  /** Every key of the log, also without a wallet. */
  readonly listKeys: (needs: Pick<Context, 'log' | 'pool'>) => Promise<readonly JointKey[]>
  readonly partiesHere: (needs: Pick<Context, 'config'>) => Promise<readonly PartyHere[]>
}

export type KeyKind = {
  /** Asked about all wallets with a key: it judges those with a key of its kind. */
  readonly problems: (
    needs: Pick<Context, 'log' | 'pool'>,
    ...of: Parameters<KeyProblemsOf>
  ) => ReturnType<KeyProblemsOf>
  /** Opens the keys in a signer; null where the settings name none. Missing for keys of the keystore, which each signer has. */
  readonly open?: (
    needs: Context,
    opened: { readonly keystore: Keystore; readonly kek: Kek },
  ) => Promise<HeldKeys | null>
  /** Numbers of the parties that hold shares of its keys, as the settings say; empty where none can be reached. */
  readonly parties?: (config: Context['config']) => readonly number[]
  /** Loaded by commands alone. */
  readonly shared?: () => Promise<SharedKeys>
}

export type KeyKinds = Readonly<Partial<Record<WalletKey['kind'], KeyKind>>>

declare module '../capability.ts' {
  interface Capability {
    /** By the kind of the keys. */
    readonly keyKinds?: KeyKinds
  }
}
