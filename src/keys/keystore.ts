/**
 * Storage of sealed secrets. A keystore sees only ciphertext. All signer processes must share one: a directory that all
 * of them mount (one machine, or network storage with hard links), or PostgreSQL for signers on several machines.
 */
import type { Envelope, SecretId } from './sealed-box.ts'

export type Keystore = {
  readonly read: (id: SecretId) => Promise<Envelope | undefined>
  /**
   * Stores the first envelope of a secret. An existing envelope stays unchanged.
   *
   * @returns the stored envelope: all concurrent callers get the same one
   * @throws Unavailable `keystore_key_wrong` when the keystore was rotated to another key meanwhile; nothing is stored
   *   then
   */
  readonly createOnce: (id: SecretId, envelope: Envelope) => Promise<Envelope>
  /**
   * Stores secrets that do not exist yet: all of them or none, also if the process is killed. Existing ones stay.
   *
   * @throws Conflict `secret_exists` when one of them exists; Unavailable as `createOnce` does. Nothing is stored then
   */
  readonly createAll: (secrets: readonly { readonly id: SecretId; readonly envelope: Envelope }[]) => Promise<void>
  readonly list: () => Promise<readonly SecretId[]>
  /**
   * The ids of the key-encryption keys that stored envelopes are sealed under, each once. A damaged envelope is
   * skipped: it is reported when its tenant opens it, and does not stop other tenants from signing.
   */
  readonly kekIds: () => Promise<readonly string[]>
}
