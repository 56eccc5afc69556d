/** Schemas of the routes that test a policy: on the past, and on one request. */
import { type TSchema, Type } from '@sinclair/typebox'
import { EFFECTS, PERS } from '../core/policy.ts'
import { named } from '../http/components.ts'
import { closedObject, instant, nullable, oneOf } from '../http/schemas.ts'
import { policyBody } from './schemas.ts'

const USD = '1250.5'

/** Whose rules are tested. */
const source = {
  policy: Type.Optional({ ...policyBody, description: 'The policy to test.' }),
  revision: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Instead: the revision of the draft.', examples: [4] }),
  ),
  version: Type.Optional(Type.Integer({ minimum: 1, description: 'Instead: the number of a version.', examples: [3] })),
}

export const backtestBody = closedObject(
  {
    ...source,
    from: { ...instant('Only requests from this time on.'), examples: ['2026-11-01T00:00:00Z'] },
    to: Type.Optional({
      ...instant('Only requests before this time, at most 31 days after `from`. The default is now.'),
      examples: ['2026-12-01T00:00:00Z'],
    }),
  },
  { examples: [{ revision: 4, from: '2026-11-01T00:00:00Z' }] },
)

const ruleName = nullable(
  Type.String({ description: 'The id of the rule. Null for the default.', examples: ['daily-cap'] }),
)

const tallySchema = (description: string) =>
  Type.Object(
    {
      requests: Type.Integer({ description: 'How many requests.', examples: [12] }),
      usd: Type.String({ description: 'What they move, in US dollars, as far as prices are known.', examples: [USD] }),
      unpriced: Type.Integer({ description: 'How many of them have no known price or no bound.', examples: [0] }),
    },
    { description },
  )
const verdicts = {
  denied: tallySchema('Requests that a rule or the default denies.'),
  limited: tallySchema('Requests for which a limit has no room.'),
  needs_approval: tallySchema('Requests that need an approval. They count towards limits.'),
}

const VERDICTS = ['denied', 'limited', 'needs_approval'] as const

export const backtestSchema = named(
  'PolicyBacktest',
  Type.Object({
    events_read: Type.Integer({ description: 'How many events of the log were looked at.', examples: [48_210] }),
    truncated: Type.Boolean({
      description:
        'Whether there was more than one request may read: `tested_to` is the last tested time. Test a later `from`, or a shorter time.',
      examples: [false],
    }),
    tested_to: nullable(instant('When the newest tested request was made. Null if there was none.')),
    totals: Type.Object(
      { allowed: tallySchema('Requests that the policy allows.'), ...verdicts },
      { description: 'All requests, by verdict.' },
    ),
    rules: Type.Array(
      Type.Object({
        rule: ruleName,
        effect: oneOf([...EFFECTS, 'default'], { description: 'What the rule does.', examples: ['limit'] }),
        matched: Type.Integer({ description: 'How many requests the rule is about.', examples: [120] }),
        ...verdicts,
      }),
      { description: 'Rules that are about at least one request, in the order of their ids.' },
    ),
    largest: Type.Array(
      Type.Object({
        id: Type.String({
          description: 'Of the transaction, the signature, the export or the API key.',
          examples: ['tx_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'],
        }),
        requested_at: instant('When it was requested.'),
        verdict: oneOf(VERDICTS, { description: 'What the policy says.', examples: ['limited'] }),
        rules: Type.Array(ruleName, { description: 'The rules that say so.' }),
        usd: nullable(
          Type.String({ description: 'What it moves, in US dollars. Null if it is not known.', examples: [USD] }),
        ),
      }),
      { description: 'The ten largest requests that the policy does not allow.' },
    ),
  }),
)

/** @param requests the bodies of requests by their names: one of them is sent */
export function simulateBody(requests: Readonly<Record<string, TSchema>>) {
  return closedObject(
    {
      ...source,
      wallet_id: Type.String({
        maxLength: 64,
        description: 'The wallet of the request.',
        examples: ['wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'],
      }),
      api_key: Type.Optional(
        Type.String({
          pattern: '^key_[0-9a-f-]{36}$',
          description: 'The id of the API key that would ask. The default is the one that asks.',
          examples: ['key_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'],
        }),
      ),
      ...Object.fromEntries(
        Object.entries(requests).map(([name, body]) => [
          name,
          Type.Optional({ ...body, description: `The body of a ${name.replaceAll('_', ' ')}.` }),
        ]),
      ),
    },
    {
      examples: [
        {
          revision: 4,
          wallet_id: 'wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11',
          transfer: { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', amount: '0.1', asset: 'ETH' },
        },
      ],
    },
  )
}

const HELD = ['yes', 'maybe', 'unpriced', 'no'] as const
const heldSchema = (description: string) => oneOf(HELD, { description, examples: ['yes'] })

const movedSchema = nullable(
  Type.Object(
    {
      asset: nullable(Type.String({ description: 'The symbol. Null if it is not known.', examples: ['USDC'] })),
      amount: nullable(Type.String({ description: 'How much at most. Null without a bound.', examples: ['25'] })),
    },
    { description: 'What it can move. Null for nothing that has an amount.' },
  ),
)
const anyText = (description: string, example: string) =>
  nullable(
    Type.String({ description: `${description} \`*\`: it may be any. Null if there is none.`, examples: [example] }),
  )

const intentSchema = Type.Object(
  {
    actions: Type.Array(Type.String({ examples: ['transfer'] }), { description: 'What it is.' }),
    recipient: anyText('Who gets what is moved.', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'),
    spender: anyText('Who may take what is moved, later.', '0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45'),
    contract: anyText('The called contract.', '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'),
    method: anyText('The selector of the called function.', '0xa9059cbb'),
    moves: movedSchema,
  },
  { description: 'Something that the request can do.' },
)

export const simulationSchema = named(
  'PolicySimulation',
  Type.Object({
    version: nullable(
      Type.Integer({ description: 'The simulated version. Null for a draft or a sent policy.', examples: [3] }),
    ),
    outcome: oneOf(['allowed', 'denied', 'limited', 'needs_approval'], {
      description: 'What the policy says of the request. If it refuses a part, it refuses all.',
      examples: ['allowed'],
    }),
    parts: Type.Array(
      Type.Object({
        outcome: oneOf(['allowed', 'denied', 'limited', 'needs_approval'], {
          description: 'Of this part.',
          examples: ['allowed'],
        }),
        refusal: nullable(
          Type.Object(
            {
              code: oneOf(['policy_denied', 'policy_limit'], {
                description: 'As the error would have it.',
                examples: ['policy_limit'],
              }),
              message: Type.String({
                description: 'For people.',
                examples: ['The rule daily-cap of the policy denies this request.'],
              }),
              rules: Type.Array(ruleName, { description: 'All rules that refuse it.' }),
              available_at: nullable(instant('When a limit has room for it. Null if it has none, or never has.')),
            },
            { description: 'Why it would be refused. Null if it would not be.' },
          ),
        ),
        intents: Type.Array(intentSchema, { description: 'What it can do: each is judged.' }),
        rules: Type.Array(
          Type.Object({
            rule: Type.String({ description: 'The id of the rule.', examples: ['daily-cap'] }),
            effect: oneOf(EFFECTS, { description: 'What the rule does.', examples: ['limit'] }),
            matched: Type.Boolean({ description: 'Whether it is about this part.', examples: [true] }),
            intents: Type.Array(
              Type.Object({
                held: heldSchema(
                  'All conditions together. `maybe`: it may be anything, which rules that restrict match, and rules that allow do not.',
                ),
                conditions: Type.Array(
                  Type.Object({
                    field: Type.String({ description: 'The condition.', examples: ['recipients'] }),
                    held: heldSchema('Whether it holds.'),
                  }),
                  { description: 'Each condition of the rule.' },
                ),
              }),
              { description: 'By intent, in their order.' },
            ),
          }),
          { description: 'Every rule, and why it is about this part or is not.' },
        ),
        reservations: Type.Array(
          Type.Object({
            rule: Type.String({ description: 'The id of the rule.', examples: ['daily-cap'] }),
            per: oneOf(PERS, { description: 'Whose counter it is.', examples: ['wallet'] }),
            unit: Type.String({ description: 'A symbol, `USD` or `transactions`.', examples: ['USD'] }),
            amount: Type.String({ description: 'What the request counts, with its fee.', examples: ['25.01'] }),
            limit: Type.String({ description: 'The limit.', examples: ['5000'] }),
            left: Type.String({
              description: 'What is left after the request; 0 if it does not fit.',
              examples: ['4974.99'],
            }),
            window_seconds: Type.Integer({ description: 'The length of the window.', examples: [86_400] }),
            counted: Type.Boolean({
              description:
                'Whether the counter has what was spent before. If not, `left` says what would be left if nothing was: shadow the policy to know.',
              examples: [true],
            }),
          }),
          { description: 'What it counts towards limits.' },
        ),
        approvals: Type.Array(
          Type.Object({
            group: Type.String({ description: 'The group that must approve.', examples: ['treasurers'] }),
            quorum: Type.Integer({ description: 'How many of it.', examples: [2] }),
            rules: Type.Array(Type.String({ examples: ['large'] }), { description: 'The rules that ask for it.' }),
          }),
          { description: 'The approvals that it needs.' },
        ),
      }),
      { description: 'Each transaction or signature of the request.' },
    ),
  }),
)
