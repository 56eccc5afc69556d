/** What recovery kits have of joint keys: all of the log, and the shares on this machine. */
import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { JointKey } from '../keys/mpc/ceremonies.ts'
import { generationOf } from '../keys/mpc/loaded-shares.ts'
import { readShare } from '../keys/mpc/read-shares.ts'
import { finishReplacing } from '../keys/replace-files.ts'
import { directoryExists } from '../keys/usable-directory.ts'
import type { SharedKeys } from '../wallets/key-kinds.ts'
import { MPC_PARTY_DIR, openPartyKek } from './identities.ts'
import { createJointKeysOf } from './joint-keys.ts'

export const sharedKeys: SharedKeys = {
  async listKeys({ pool, log }) {
    const { rows } = await pool.query<Pick<Row<'mpc_keys'>, 'key_id'>>('SELECT key_id FROM mpc_keys ORDER BY key_id')
    return [...(await createJointKeysOf(log)(rows.map(({ key_id }) => key_id))).values()]
  },
  /** The party of the settings; without one, every party whose directory is here, as in the sandbox. */
  async partiesHere({ config }) {
    const here: Awaited<ReturnType<SharedKeys['partiesHere']>>[number][] = []
    for (const place of placesOf(config)) {
      const { number, directory } = place
      if (!(await directoryExists(directory, MPC_PARTY_DIR))) continue
      await finishReplacing(directory)
      const kek = await openPartyKek(place)
      const load = (joint: JointKey) => readShare({ directory, party: number, kek }, joint.keyId, generationOf(joint))
      here.push({ party: number, kek, load })
    }
    return here
  },
}

function placesOf({ mpc, dataDir }: Context['config']) {
  if (mpc === null) return []
  if (mpc.party !== null) return [mpc.party]
  return Array.from({ length: mpc.parties }, (_, index) => ({
    number: index + 1,
    directory: join(dataDir, 'mpc', `party-${index + 1}`),
    key: null,
  }))
}
