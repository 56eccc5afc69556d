/**
 * The key of tags that the log's signatures were made with. A signer with another key would not recognise what the
 * database has forgotten, and would pay it again; so the log records which key is in use, and nobody signs with another.
 */
import { createHash } from 'node:crypto'
import { Conflict } from '../core/errors.ts'
import type { EventLog } from '../event-log/log.ts'
import { type AdoptTagKey, tagKeyAggregate, wrongTagKey } from './tag-key-aggregate.ts'
import type { TagKeys } from './tags.ts'

/** One stream for the installation. */
const ID = 'main'
const METADATA = { tenantId: 'system', actor: 'worker:signer' }

/**
 * The keys of the setting TRANSACTION_TAG_KEY, if they are those of the log.
 *
 * @throws Conflict `tag_key_missing`; `tag_key_wrong` when the log was signed with a key that is not among them
 */
export async function requireTagKeys(
  log: Pick<EventLog, 'load'>,
  [first, ...others]: readonly Uint8Array[],
): Promise<TagKeys> {
  if (first === undefined)
    throw new Conflict(
      'tag_key_missing',
      'TRANSACTION_TAG_KEY must be set for signers and mpc parties: 32 bytes in base64, the same for all of them. Create one with openssl rand -base64 32.',
    )
  const keys: TagKeys = [first, ...others]
  const { fingerprint } = (await log.load(tagKeyAggregate, ID)).state
  if (fingerprint === null || keys.map(fingerprintOf).includes(fingerprint)) return keys
  throw new Conflict('tag_key_wrong', wrongTagKey(keys.map(fingerprintOf), fingerprint))
}

/** Records the first of the keys as the one in use, before a signer signs. @throws Conflict `tag_key_wrong` */
export async function adoptTagKey(log: Pick<EventLog, 'execute' | 'now'>, keys: TagKeys): Promise<void> {
  const command: AdoptTagKey = { type: 'Adopt', fingerprints: keys.map(fingerprintOf), now: log.now() }
  await log.execute(tagKeyAggregate, ID, command, { metadata: METADATA })
}

function fingerprintOf(key: Uint8Array): string {
  return createHash('sha256').update('bursar transaction tag key').update(key).digest('hex').slice(0, 16)
}
