/**
 * Where sealed secrets lie. A keystore sees ciphertext only. All signer processes must share one: a directory that all of
 * them mount (one machine, or network storage with hard links), or PostgreSQL when signers run on several machines.
 */
import type { Envelope, SecretId } from './sealed-box.ts'

export type Keystore = {
  readonly read: (id: SecretId) => Promise<Envelope | undefined>
  /**
   * Stores the first envelope of a secret. When there is one already it stays, and nothing of it is changed.
   *
   * @returns the envelope that is stored now: of callers that race, every one is given the winner's
   * @throws Unavailable `keystore_key_wrong` when the keystore was rotated to another key meanwhile: nothing is stored then
   */
  readonly createOnce: (id: SecretId, envelope: Envelope) => Promise<Envelope>
  readonly list: () => Promise<readonly SecretId[]>
  /**
   * The ids of the key-encryption keys that stored envelopes are sealed under, each once. A damaged envelope has none: it is
   * its tenant's trouble, told when it is opened, and keeps no other tenant from signing.
   */
  readonly kekIds: () => Promise<readonly string[]>
}
