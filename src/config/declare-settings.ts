/** Settings of a capability: `settings.ts` of its folder declares them, and `compose/load-config.ts` lists all of them. */
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { ChainSettings } from '../chain/settings.ts'
import type { ChainKey } from '../core/networks.ts'

export type Schemas = Readonly<Record<string, TSchema>>

type Installation = { readonly sandbox: boolean; readonly dataDir: string }

/** `prefix` of the names of its settings. `isPublic`: the contracts of the public chain apply to it. */
export type ConfiguredChain = ChainKey & { readonly prefix: string; readonly isPublic: boolean }

/** Values are undefined where unset. `problems` are only asked for settings that are each valid, or absent. */
type Readers<Values, ChainValues, Value> = {
  /** Where the table of settings lists them: after those of HTTP, after those of keys, or last. */
  readonly group: 'limits' | 'keys' | 'last'
  readonly read: (values: Values, installation: Installation) => Value
  /** Contradictions, one line for each, which begins with the name of a setting. */
  readonly problems?: (values: Partial<Values>, chains: readonly ChainSettings[]) => readonly string[]
  /** @throws ValidationFailed with the name of the setting as its field */
  readonly readChain?: (values: ChainValues, chain: ConfiguredChain) => Partial<ChainSettings>
  /** Whether this process signs what it reads in the log, so that nobody may be able to impersonate its database. */
  readonly signsFromLog?: (values: Values) => boolean
}

/** What becomes one member of `Config`. */
export type DeclaredSettings<Value = unknown> = Readers<never, never, Value> & {
  /** Of the whole installation. */
  readonly settings: Schemas
  /** Of each chain. */
  readonly chainSettings?: Schemas
}

/** Checks that the readers take the values of the settings. */
export function declareSettings<Own extends Schemas, Value, ChainOwn extends Schemas = Record<never, TSchema>>(
  declared: Readers<Static<TObject<Own>>, Static<TObject<ChainOwn>>, Value> & {
    readonly settings: Own
    readonly chainSettings?: ChainOwn
  },
): DeclaredSettings<Value> {
  return declared as DeclaredSettings<Value>
}
