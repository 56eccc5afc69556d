/** The identity of a process among the mpc processes, according to the settings: for the operator command. */
import pg from 'pg'
import { printText } from '../cli/printed.ts'
import { type Config, ConfigError } from '../config.ts'
import { InvalidSetting } from '../core/errors.ts'
import type { Identity } from '../keys/mpc/identity.ts'
import { requireUsableDirectory } from '../keys/usable-directory.ts'
import { MPC_PARTY_DIR, openCoordinatorIdentity, openPartyIdentity, openPartyKek } from '../mpc-wallets/identities.ts'
import type { IdentityOwner } from '../mpc-wallets/mpc-program.ts'
import { loadConfig } from './load-config.ts'
import { openKeystore } from './open-keystore.ts'

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
