/** What a party looks up before it signs: whether the log, read by its own connection, wants exactly what it was asked for. */
import { type Coverage, notCovered } from '../keys/coverage.ts'
import type { AskedSignature, CoverageOf, PartySignPorts } from '../keys/mpc/party-sign.ts'
import { mintAggregate } from '../nft/mints/projection.ts'
import { coversVoucher } from '../nft/vouchers/covers.ts'
import { coversSignature } from '../signatures/covers.ts'
import { signatureAggregate } from '../signatures/projection.ts'
import { coversTransaction } from '../transactions/covers.ts'
import { transactionAggregate } from '../transactions/projection.ts'
import { createWalletFacts } from '../wallets/wallet-facts.ts'
import type { Kernel } from './kernel.ts'

/** What failed or was cancelled before a signature of it was recorded. */
export function composeEnded({ log }: Kernel): PartySignPorts['endedOf'] {
  return async (transactionIds) => {
    const loaded = await log.loadMany(transactionAggregate, [...new Set(transactionIds)])
    return loaded.flatMap(({ id, state }) => {
      if (state.state === 'unknown') return []
      const unsigned = state.attempts.length === 0 && state.abandoned.length === 0
      return unsigned && (state.state === 'failed' || state.state === 'cancelled') ? [id] : []
    })
  }
}

export function composeCoverage({ log, pool, chains }: Kernel): CoverageOf {
  const factsOf = createWalletFacts(pool)

  async function transactions(asked: readonly AskedSignature[]): Promise<Coverage[]> {
    const loaded = await log.loadMany(
      transactionAggregate,
      asked.map(({ intent }) => intent.id),
    )
    const states = new Map(loaded.map(({ id, state }) => [id, state]))
    const named = [...states.values()].flatMap((state) =>
      state.state === 'unknown' ? [] : (state.intent.dependsOn ?? []),
    )
    const dependencies = new Map(
      (named.length === 0 ? [] : await log.loadMany(transactionAggregate, [...new Set(named)])).map(({ id, state }) => [
        id,
        state,
      ]),
    )
    return asked.map(({ intent, subject, address, signedNonces }) => {
      const state = states.get(intent.id)
      if (subject.kind !== 'transaction' || state === undefined) return notCovered('the intent is a transaction')
      const chain = chains.byChainId(subject.transaction.chainId)
      if (chain === undefined) return notCovered('no such chain is configured')
      const dependsOn = state.state === 'unknown' ? null : state.intent.dependsOn
      return coversTransaction(
        state,
        { address, transaction: subject.transaction },
        {
          maxFeePerGasCap: chain.settings.maxFeePerGasWei,
          dependency: dependsOn ? (dependencies.get(dependsOn) ?? null) : null,
          signedNonces,
          now: log.now(),
        },
      )
    })
  }

  async function voucher({ intent, subject, keyId }: AskedSignature): Promise<Coverage> {
    const { state } = await log.load(mintAggregate, intent.id)
    if (subject.kind !== 'typed_data') return notCovered('the intent is a voucher')
    const walletId = state.state === 'unknown' || state.voucher === null ? null : state.voucher.walletId
    const key = walletId === null ? null : (await factsOf(walletId))?.key
    if (walletId === null || key?.kind !== 'mpc' || key.keyId !== keyId) {
      return notCovered('the key is not that of the wallet that owns the contract')
    }
    return coversVoucher(state, { walletId, typedData: subject.typedData })
  }

  async function signature({ intent, subject, address }: AskedSignature): Promise<Coverage> {
    const { state } = await log.load(signatureAggregate, intent.id)
    if (subject.kind === 'transaction') return notCovered('the intent is a message or typed data')
    return coversSignature(
      state,
      subject.kind === 'message'
        ? { address, type: 'message', message: subject.message }
        : { address, type: 'typed_data', typedData: subject.typedData },
    )
  }

  return async (asked) => {
    const inTransactions = asked.filter(({ intent }) => intent.kind === 'transaction')
    const verdicts = new Map<AskedSignature, Coverage>()
    const of = inTransactions.length === 0 ? [] : await transactions(inTransactions)
    for (const [index, item] of inTransactions.entries()) verdicts.set(item, of[index] ?? notCovered('not judged'))
    await Promise.all(
      asked.map(async (item) => {
        if (item.intent.kind === 'voucher') verdicts.set(item, await voucher(item))
        if (item.intent.kind === 'signature') verdicts.set(item, await signature(item))
      }),
    )
    return asked.map((item) => verdicts.get(item) ?? notCovered('there is no such kind of intent'))
  }
}
