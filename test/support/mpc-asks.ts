/** What a compromised coordinator asks the parties for, and what they answer. */
import type { Answers } from '../../src/keys/mpc/coordinator.ts'
import type { SigningItem, SigningSubject } from '../../src/keys/mpc/protocol.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { MpcWallet, Puppeteer } from './mpc-stage.ts'
import { tagged } from './recorded-transactions.ts'
import { RECIPIENT, type Stage } from './service-stage.ts'

export const THIEF = '0x000000000000000000000000000000000000dEaD'
export const GWEI = 10n ** 9n
export const ETHER = 10n ** 18n

/** A transfer of 1 ETH, as the lane builds it. */
export const builtTransfer = (changed: Partial<UnsignedTransaction> = {}): UnsignedTransaction => ({
  chainId: 1_000_001,
  nonce: 0,
  to: RECIPIENT,
  value: ETHER,
  data: '0x',
  gasLimit: 21_000n,
  maxFeePerGas: 2n * GWEI,
  maxPriorityFeePerGas: GWEI,
  ...changed,
})

/** A request to sign for a transaction of the log. */
export const signingItem = (
  { keyId }: Pick<MpcWallet, 'keyId'>,
  id: string,
  subject: SigningSubject | UnsignedTransaction,
): SigningItem => ({
  keyId,
  intent: { kind: 'transaction', id },
  subject: 'kind' in subject ? subject : { kind: 'transaction', transaction: subject },
})

/** With the tag of the recorded transaction, as the lane signs it; unchanged if the log has no such transaction. */
export async function tagAs(
  { service }: Pick<Stage, 'service'>,
  id: string,
  transaction: UnsignedTransaction,
): Promise<UnsignedTransaction> {
  return tagged((await service.kernel.log.load(transactionAggregate, id)).state, transaction, id)
}

export const askToSign = (
  puppeteer: Puppeteer,
  items: readonly SigningItem[],
  signers: readonly number[] = [1, 2],
): Promise<Answers> =>
  puppeteer.ask(signers, { ceremony: 'sign', signers, finisher: signers[0] as number, items }, { timeoutMs: 60_000 })

/** The kind of refusal of each item, at each party; `signed` for none. */
export const refusalKinds = (answers: Answers): string[][] =>
  [...answers.values()].map((outcome) => outcome.map((each) => (each.ok ? 'signed' : each.refusal.kind)))
