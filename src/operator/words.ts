/** Formats times, fees and requests for the operator commands. Pure. */
import { formatAmount } from '../core/money.ts'
import type { ChainKey } from '../core/networks.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const GWEI_DECIMALS = 9

/**
 * The two largest units of a duration: `812 ms`, `4.2 s`, `2 min 3 s`, `3 h 4 min`, `2 d 5 h`. @param ms negative
 * counts as 0
 */
export function duration(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < SECOND) return `${whole} ms`
  if (whole < MINUTE) return `${(whole / SECOND).toFixed(1)} s`
  if (whole < HOUR) return two(whole, MINUTE, 'min', SECOND, 's')
  return whole < DAY ? two(whole, HOUR, 'h', MINUTE, 'min') : two(whole, DAY, 'd', HOUR, 'h')
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  return `${Math.floor(ms / large)} ${largeName} ${Math.floor((ms % large) / small)} ${smallName}`
}

/** A fee per gas in gwei. */
export function gwei(wei: bigint): string {
  return `${formatAmount(wei, GWEI_DECIMALS)} gwei`
}

/** `ethereum`, `ethereum-testnet`: the name of a chain here and in `/readyz`. */
export function chainName({ network, environment }: ChainKey): string {
  return environment === 'mainnet' ? network : `${network}-${environment}`
}

/** An API request to paste into a shell: `$URL` and `$KEY` as in the README. */
export function apiRequest(path: string, body: object = {}): string {
  return (
    `curl -s -X POST $URL${path} -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' ` +
    `-H "Idempotency-Key: $(uuidgen)" -d '${JSON.stringify(body)}'`
  )
}

/** A command of this program to paste into a shell. */
export function bursar(line: string): string {
  return `npm run bursar -- ${line}`
}

/** The command that starts a process under Docker Compose. */
export function startProcess(name: string): string {
  return `docker compose up --detach ${name}`
}

/** A count with its noun: `1 job`, `3 jobs`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}
