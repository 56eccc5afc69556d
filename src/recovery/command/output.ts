/** The output of the recovery commands: tables and sentences for people, objects for JSON. */
import { type Fork, rulesOf } from '../../chain/forks.ts'
import type { CliIo } from '../../cli/command.ts'
import type { BackedUp } from '../kit/back-up.ts'
import { HD_PART, partyPart } from '../kit/format.ts'
import type { OpenedKit } from '../kit/open-kits.ts'
import type { Sweep, SweepRequest } from '../kit/sign-sweep.ts'
import type { RestoredSeeds } from '../kit/sources.ts'
import type { KitVerdict } from '../kit/verify-kit.ts'

/** Parties that together reach the threshold, sealed to one identity: its holder needs nobody else. */
function sealedTogether({ written, wallets }: BackedUp): string {
  const parties = written.filter((name) => name !== HD_PART).length
  const least = Math.min(
    ...wallets.map((wallet) => (wallet.type === 'mpc' ? wallet.threshold : Number.POSITIVE_INFINITY)),
  )
  if (parties < least) return ''
  return `These parts together can sign for the mpc wallets. In production each party makes its own part, for its own recipient.\n`
}

/** Whether every wallet can be restored, and no manifest was changed. An empty kit proves nothing. */
export function isProved({ origins }: OpenedKit, verdicts: readonly KitVerdict[]): boolean {
  const isWhole = origins.every(({ signed }) => signed.state !== 'broken')
  return isWhole && verdicts.length > 0 && verdicts.every(({ ok }) => ok)
}

/** What the signatures do not prove, one line for each manifest. */
export function originLines(origins: OpenedKit['origins']): string[] {
  return origins.map(({ manifest, signed }) => {
    if (signed.state === 'signed')
      return `${manifest} is signed by ${signed.key}: compare it with the key that backup printed`
    if (signed.state === 'broken') return `NOT PROVED: ${manifest} was changed since it was signed`
    return `NOT PROVED: ${manifest} is not signed, as kits of earlier versions: who made its parts, that they belong together, and that none is missing`
  })
}

export function originsAsText(origins: OpenedKit['origins']): string {
  return originLines(origins)
    .map((line) => `${line}\n`)
    .join('')
}

export function originsAsJson({ origins }: OpenedKit) {
  return origins.map(({ manifest, signed }) => ({
    manifest,
    state: signed.state,
    key: signed.state === 'signed' ? signed.key : null,
  }))
}

export function backedUpAsJson({ directory, written, parts, wallets, leftOut, signedBy, elsewhere }: BackedUp) {
  return {
    signed_by: signedBy,
    directory,
    written,
    parts,
    wallets,
    left_out: leftOut.map(({ part, keyId, address, why }) => ({ part, key_id: keyId, address, why })),
    wallets_elsewhere: elsewhere,
  }
}

export function backedUpAsText(made: BackedUp): string {
  const { directory, written, parts, wallets, leftOut, signedBy, elsewhere } = made
  const needed = new Set(
    wallets.flatMap((wallet) =>
      wallet.type === 'hd' ? [HD_PART] : Array.from({ length: wallet.parties }, (_, index) => partyPart(index + 1)),
    ),
  )
  const missing = [...needed].filter((name) => !parts.includes(name))
  const more =
    missing.length === 0
      ? ''
      : `Not in the kit yet: ${missing.join(', ')}. Run backup with --part on the machines that have them, into this directory or into others.\n`
  const others =
    elsewhere === 0
      ? ''
      : `Wallets whose keys are on other machines: ${elsewhere}. Run backup where the signer runs for hd, and where each party runs for mpc.\n`
  return (
    `${directory}: ${written.join(', ')} written; wallets in kit.json: ${wallets.length}\n${more}${others}` +
    leftOut.map(({ part, address, why }) => `NOT IN ${part}: the share of ${address}: ${why}\n`).join('') +
    sealedTogether(made) +
    `Signed by ${signedBy}. Keep this key with the identities, and give it to verify, sweep and restore as --signed-by.\n` +
    `Next, verify the kit: npm run recovery -- verify --kit ${directory} --identity FILE\n`
  )
}

export function verdictsAsJson(kit: OpenedKit, verdicts: readonly KitVerdict[]) {
  const { problems } = kit
  return {
    ok: isProved(kit, verdicts),
    signatures: originsAsJson(kit),
    wallets: verdicts.map(({ wallet, ok, heldBy, note }) => {
      const { wallet_id, address, type, network, environment } = wallet
      return { wallet_id, address, type, network, environment, ok, parts: heldBy, note }
    }),
    problems: problems.map(({ part, path, problem }) => ({ part, path, problem })),
  }
}

export function verdictsAsText(
  { table }: CliIo,
  { problems, origins }: Pick<OpenedKit, 'problems' | 'origins'>,
  verdicts: readonly KitVerdict[],
): string {
  const failed = verdicts.filter(({ ok }) => !ok).length
  const rows = verdicts.map(({ wallet, ok, heldBy, note }) => [
    wallet.address,
    wallet.type,
    `${wallet.network} ${wallet.environment}`,
    ok ? 'ok' : 'FAILED',
    heldBy.length === 0 ? '-' : heldBy.join(' '),
    note ?? '',
  ])
  const warnings = problems.map(({ path, problem }) => `not used: ${path}: ${problem}\n`).join('')
  const proofs = originsAsText(origins)
  if (rows.length === 0) return `${warnings}${proofs}the kit lists no wallets: nothing was verified\n`
  const verdict =
    failed === 0
      ? `${rows.length} of ${rows.length} wallets can be restored from these parts`
      : `${failed} of ${rows.length} wallets can NOT be restored from these parts`
  return `${table(['wallet', 'type', 'network', 'restored', 'parts', ''], rows)}${warnings}${proofs}${verdict}\n`
}

export function restoredAsText({ restored, unchanged }: RestoredSeeds): string {
  const lines = [
    ...restored.map((tenant) => `${tenant}: seed restored\n`),
    ...unchanged.map((tenant) => `${tenant}: seed already exists\n`),
  ]
  return lines.join('')
}

/** What the rules of a fork mean for a sweep, or `null`: nobody asked a chain whether the recipient exists. */
function warningOf({ payload, gasLimit }: SweepRequest, fork: Fork): string | null {
  const { transfer, newAccount } = rulesOf(fork)
  const isNative = payload.kind === 'value' || payload.kind === 'balance'
  if (!isNative || newAccount === 0n || gasLimit >= transfer + newAccount) return null
  return `If the recipient does not exist on chain, this fails and its gas is paid: creating an account needs ${transfer + newAccount} gas.`
}

export function sweepAsJson(request: SweepRequest, fork: Fork, { rawTransaction, hash, transaction, heldBy }: Sweep) {
  const { to, value, data, chainId, nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  return {
    fork,
    warning: warningOf(request, fork),
    raw_transaction: rawTransaction,
    hash,
    from: request.wallet,
    to,
    value: value.toString(),
    data,
    chain_id: chainId,
    nonce,
    gas_limit: gasLimit.toString(),
    max_fee_per_gas: maxFeePerGas.toString(),
    max_priority_fee_per_gas: maxPriorityFeePerGas.toString(),
    parts: heldBy,
  }
}

export function sweepAsText(
  { table }: CliIo,
  request: SweepRequest,
  fork: Fork,
  { rawTransaction, hash, transaction, heldBy }: Sweep,
): string {
  const { to, value, data, chainId, nonce, gasLimit, maxFeePerGas } = transaction
  const warning = warningOf(request, fork)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [rawTransaction] })
  return [
    table(
      ['from', `${request.wallet} (${heldBy.join(', ')})`],
      [
        ['to', to],
        ['value', `${value} wei`],
        ...(data === '0x' ? [] : [['data', data]]),
        ['chain', `${chainId}, nonce ${nonce}`],
        ['gas', `${gasLimit}, which costs at most ${gasLimit * maxFeePerGas} wei`],
        ['rules', `assumed: ${fork}${warning === null ? '' : `. ${warning}`}`],
        ['hash', hash],
        ['raw', rawTransaction],
      ],
    ),
    '\nNothing was sent. You can send it to any node of the chain:\n',
    `  curl -s "$RPC_URL" -H 'Content-Type: application/json' -d '${body}'\n`,
  ].join('')
}
