/** The OpenAPI document of the whole API: its operation ids are stable, and every part of it is described. */
import t from 'tap'
import { composeApiDocument } from '../../src/compose/api-document.ts'
import { API_OPERATIONS, operationsOf } from '../support/api-operations.ts'
import { openapiProblems } from '../support/openapi.ts'

const document = (await composeApiDocument('0.0.0-test')) as Readonly<Record<string, unknown>>

t.test('the operations and their ids are those of the list', async (t) => {
  t.strictSame(operationsOf(document), API_OPERATIONS)
})

t.test('every operation, parameter, field, example and error response is described', async (t) => {
  t.strictSame(openapiProblems(document), [])
})
