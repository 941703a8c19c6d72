internal import RecordStore
internal import Records

extension TokenExplaining {
    /// What a token means; `nil` for one that this store did not make, or that was damaged.
    /// - Throws: what goes wrong with the store itself.
    func meaning(of token: ChangeToken) async throws -> TokenExplanation? {
        do {
            return try await explain(token)
        } catch let error as RecordError where error.code == .badRequest {
            return nil
        }
    }
}
