internal import JSON
internal import RecordStore
internal import Records

extension RemoteDatabase {
    func subscriptions() async throws -> [Subscription] {
        let answer = try await line.get("subscriptions/list", of: .database)
        return try answer.array("subscriptions").map { try Subscription($0.object()) }.sorted { $0.subscriptionID < $1.subscriptionID }
    }

    func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<SubscriptionOperation, RecordError>] {
        try await inParts(operations) { part in
            let answer = try await line.post("subscriptions/modify", of: .database, .saves) { writer in
                writer.name("operations")
                writer.array { writer in
                    for operation in part { writer.value(operation) }
                }
            }
            let items = try answer.results("subscriptions") { $0 }
            guard items.count == part.count else { throw answer.unexpected("an item for each operation") }
            return try zip(items, part).map { item, operation in
                switch (item, operation) {
                case (.failure(let error), _): .failure(error)
                case (.success(let item), .save): .success(.save(try Subscription(item.object())))
                case (.success, .delete): .success(operation)
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ operation: SubscriptionOperation) {
        object { writer in
            switch operation {
            case .save(let subscription):
                writer.member("operationType", "create")
                writer.name("subscription")
                writer.value(subscription)
            case .delete(let subscriptionID):
                writer.member("operationType", "delete")
                writer.name("subscription")
                writer.object { $0.member("subscriptionID", subscriptionID) }
            }
        }
    }
}
