package import RecordStore
package import Records

extension RecordDatabase {
    /// The meaning of a token; `nil` if this store did not issue it or can't explain it, or it is damaged.
    /// - Throws: errors of the store itself.
    package func meaning(of token: ChangeToken) async throws -> TokenExplanation? {
        do {
            return try await explain(token)
        } catch let error as RecordError where error.code == .badRequest {
            return nil
        }
    }
}
