internal import CloudKitClient
internal import JSON
internal import RecordStore
public import Records

extension CloudKitDatabase {
    public func subscriptions() async throws -> [Subscription] {
        try await asking { try await client.subscriptions() }.sorted { $0.subscriptionID < $1.subscriptionID }
    }

    public func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<SubscriptionOperation, RecordError>] {
        try checkWritable()
        let answers = try await asking { try await client.modifySubscriptions(operations) }
        return zip(operations, answers).map { operation, answer in answer.map { _ in operation }.mapError { RecordError($0) } }
    }
}
