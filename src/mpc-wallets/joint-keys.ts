/**
 * Joint keys according to the log, for ceremonies and signing. Read from the streams with verified hash chains: a key
 * whose events were edited is left out. Cached values are used only while the stream has not grown, so that shares of a
 * past epoch are never used.
 */
import { LRUCache } from 'lru-cache'
import type { Loaded } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import type { JointKey, JointKeysOf } from '../keys/mpc/ceremonies.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import type { KnownMpcKey, MpcKeyState } from './state.ts'

/** About half a kilobyte each. */
const REMEMBERED = 10_000

/** One query for any number of keys; a second one for those that are new or changed. */
export function createJointKeysOf(log: Pick<EventLog, 'heads' | 'loadChecked'>): JointKeysOf {
  const remembered = new LRUCache<string, Loaded<MpcKeyState>>({ max: REMEMBERED })
  return async (keyIds) => {
    const ids = [...new Set(keyIds)]
    const heads = await log.heads(ids.map((id) => `${mpcKeyAggregate.category}-${id}`))
    const loaded = new Map(ids.map((id) => [id, remembered.get(id)]))
    const changed = ids.filter((id, place) => loaded.get(id)?.hash !== heads[place]?.hash)
    for (const key of changed.length === 0 ? [] : await log.loadChecked(mpcKeyAggregate, changed)) {
      loaded.set(key.id, key)
      if (key.broken !== null) loaded.delete(key.id)
      else if (key.version > 0) remembered.set(key.id, key)
    }
    const found = new Map<string, JointKey>()
    for (const [id, key] of loaded) {
      if (key !== undefined && key.state.status !== 'unknown') found.set(id, toJointKey(id, key.state))
    }
    return found
  }
}

export function toJointKey(keyId: string, key: KnownMpcKey): JointKey {
  const { threshold, parties, epoch, attemptId: refreshId, publicKey, address, banned } = key
  const apart = key.accusations.map(({ party, accusedBy }) => [accusedBy, party] as const)
  return { keyId, threshold, parties, epoch, refreshId, publicKey, address, banned, apart }
}
