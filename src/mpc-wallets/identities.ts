/** The identities of mpc processes, and the keys under which parties seal what they hold. */
import { openDirectoryKeystore } from '../keys/directory-keystore.ts'
import { type Kek, parseKek } from '../keys/kek.ts'
import { openKekFile } from '../keys/kek-file.ts'
import type { Keystore } from '../keys/keystore.ts'
import { type Identity, openIdentity } from '../keys/mpc/identity.ts'
import { COORDINATOR, partyName } from '../keys/mpc/party-names.ts'

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
export function openCoordinatorIdentity(keys: { readonly keystore: Keystore; readonly kek: Kek }): Promise<Identity> {
  return openIdentity({ name: COORDINATOR, ...keys })
}
