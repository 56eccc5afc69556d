/** The rules for the URL of a webhook that can be checked without asking DNS. Pure. */
import { isIP } from 'node:net'
import { ValidationFailed } from '../core/errors.ts'
import type { IsAllowedAddress } from './public-address.ts'

export const MAX_URL_LENGTH = 2_048
const HTTPS_PORT = 443
/** Below this, other services listen: mail, databases of old. */
const FIRST_FREE_PORT = 1_024
/** Names of the machine itself (RFC 6761) and of private networks (RFC 6762, RFC 8375, ICANN's .internal). */
const INTERNAL_NAME = /(^|\.)(localhost|local|internal|home\.arpa)\.?$/

export type UrlRules = { readonly allowsHttp: boolean; readonly isAllowedAddress: IsAllowedAddress }

/**
 * The URL in its normal form: international names in punycode, every notation of an IPv4 address as four numbers
 * (WHATWG URL).
 *
 * @throws ValidationFailed `invalid_url`, `url_not_https`, `url_has_credentials`, `url_port_refused`, `url_not_public`
 */
export function requireReceiverUrl(text: string, { allowsHttp, isAllowedAddress }: UrlRules): string {
  const refuse = (code: string, rule: string) => ValidationFailed.field('url', code, `url ${rule}`)
  const url = URL.canParse(text) ? new URL(text) : null
  const invalid = refuse(
    'invalid_url',
    `must be an absolute URL of at most ${MAX_URL_LENGTH} characters, such as https://example.com/hook.`,
  )
  if (url === null || url.hostname === '' || text.length > MAX_URL_LENGTH) throw invalid
  if (url.protocol !== 'https:' && !(allowsHttp && url.protocol === 'http:'))
    throw refuse('url_not_https', 'must begin with https://: deliveries contain your data.')
  if (url.username !== '' || url.password !== '')
    throw refuse('url_has_credentials', 'must not contain a user name or password: verify the signature instead.')
  const isInternal = isInternalHost(url.hostname, isAllowedAddress)
  if (isInternal)
    throw refuse(
      'url_not_public',
      'must name a receiver on the public internet: a private or local address is refused.',
    )
  const port = Number(url.port || HTTPS_PORT)
  if (port !== HTTPS_PORT && port < FIRST_FREE_PORT && !(allowsHttp && url.port === ''))
    throw refuse('url_port_refused', `must use the port ${HTTPS_PORT}, or one from ${FIRST_FREE_PORT}.`)
  // A fragment is never sent.
  url.hash = ''
  // Letters outside ASCII become several characters each.
  if (url.href.length > MAX_URL_LENGTH) throw invalid
  return url.href
}

function isInternalHost(hostname: string, isAllowed: IsAllowedAddress): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return !isAllowed(host)
  // A sandbox that allows loopback addresses allows their name.
  return INTERNAL_NAME.test(host) && !(/(^|\.)localhost\.?$/.test(host) && isAllowed('127.0.0.1'))
}
