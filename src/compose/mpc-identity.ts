/**
 * The identity of this process among the mpc processes, according to the settings: for the process, and for the
 * operator command.
 */
import pg from 'pg'
import { printText } from '../cli/printed.ts'
import { type Config, ConfigError } from '../config.ts'
import { InvalidSetting } from '../core/errors.ts'
import { openDirectoryKeystore } from '../keys/directory-keystore.ts'
import { type Kek, parseKek } from '../keys/kek.ts'
import { openKekFile } from '../keys/kek-file.ts'
import { type Identity, openIdentity } from '../keys/mpc/identity.ts'
import { COORDINATOR, partyName } from '../keys/mpc/party-names.ts'
import { requireUsableDirectory } from '../keys/usable-directory.ts'
import type { IdentityOwner } from '../mpc-wallets/mpc-program.ts'
import { loadConfig } from './load-config.ts'
import { type OpenedKeystore, openKeystore } from './open-keystore.ts'

/** The setting of the directory of a party, as messages name it. */
export const MPC_PARTY_DIR = 'MPC_PARTY_DIR (by default in DATA_DIR)'

type PartyKeys = { readonly directory: string; readonly key: string | null }

/** @throws Unavailable when the key is kept in the directory and is missing or damaged */
export async function openPartyKek({ directory, key }: PartyKeys): Promise<Kek> {
  return key === null ? openKekFile(directory) : parseKek(key, 'MPC_PARTY_KEY')
}

export async function openPartyIdentity(party: number, directory: string, kek: Kek): Promise<Identity> {
  return openIdentity({ name: partyName(party), keystore: await openDirectoryKeystore(directory), kek })
}

/** All signers share one identity, as they share one keystore. */
export function openCoordinatorIdentity(keys: OpenedKeystore): Promise<Identity> {
  return openIdentity({ name: COORDINATOR, ...keys })
}

/**
 * Opens an identity for a command: it needs only the settings that locate the identity.
 *
 * @throws InvalidSetting when the settings name no such process; Unavailable when its identity cannot be opened
 */
export async function openIdentityOf(env: NodeJS.ProcessEnv, owner: IdentityOwner): Promise<Identity> {
  const config = configFor(env)
  if (owner === 'coordinator') return coordinatorIdentity(config)
  const party = config.mpc?.party ?? null
  if (party === null) {
    throw new InvalidSetting('MPC_PARTY', 'must be set to the number of the party. Otherwise, use --coordinator.')
  }
  await requireUsableDirectory(party.directory, MPC_PARTY_DIR, { writes: false })
  return openPartyIdentity(party.number, party.directory, await openPartyKek(party))
}

/** A pool connects with its first query: a keystore in a directory needs no database. */
async function coordinatorIdentity(config: Config): Promise<Identity> {
  if (config.keystore.kind === 'postgres' && config.databaseUrl === null) {
    throw new InvalidSetting('DATABASE_URL', 'must be set if KEYSTORE is postgres.')
  }
  const pool = new pg.Pool({ connectionString: config.databaseUrl ?? undefined, max: 1 })
  try {
    return await openCoordinatorIdentity(await openKeystore({ config, pool }))
  } finally {
    await pool.end()
  }
}

function configFor(env: NodeJS.ProcessEnv): Config {
  try {
    return loadConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    printText(process.stderr, `${error.message}\n`)
    process.exit(2)
  }
}
