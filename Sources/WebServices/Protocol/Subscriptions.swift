internal import Foundation
internal import RecordStore
internal import Records

/// `subscriptions/list`: returns the user's subscriptions in the database (Apple's reference page "Fetching
/// Subscriptions").
struct SubscriptionsList: Endpoint {
    let allowsGET = true
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let subscriptions = try await call.database().require(.keepSubscriptions).subscriptions()
        writer.object { writer in
            writer.member("subscriptions", values: subscriptions) { $0.value($1) }
        }
    }
}

/// `subscriptions/lookup`: looks subscriptions up by id (Apple's reference page "Fetching Subscriptions by
/// Identifier").
struct SubscriptionsLookup: Endpoint {
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let ids = try call.body.items("subscriptions").map {
            try $0.required("subscriptionID", "a string", $0.name("subscriptionID"))
        }
        let present = Dictionary(
            try await call.database().require(.keepSubscriptions).subscriptions().map { ($0.subscriptionID, $0) },
            uniquingKeysWith: { first, _ in first })
        let results =
            ids.map { id in present[id].map { .success($0) } ?? .failure(SubscriptionRules.notFound) }
            as [Result<Subscription, RecordError>]
        call.note?.items(results, areRecords: false) { ids[$0] }
        writer.object { writer in
            writer.member("subscriptions", values: zip(ids, results)) { writer, item in
                let (id, result) = item
                switch result {
                case .success(let subscription): writer.value(subscription)
                case .failure(let error): writer.value(error, subscriptionID: id)
                }
            }
        }
    }
}

/// `subscriptions/modify`: saves and deletes subscriptions. Every operation is attempted (Apple's reference page
/// "Modifying Subscriptions").
struct SubscriptionsModify: Endpoint {
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let operations = try call.body.items("operations").map(Self.operation)
        let results = try await call.database().require(.keepSubscriptions).modifySubscriptions(operations)
        call.note?.items(results, areRecords: false) { operations[$0].subscriptionID }
        writer.object { writer in
            writer.member("subscriptions", values: zip(operations, results)) { writer, item in
                let (operation, result) = item
                switch result {
                case .success(.save(let subscription)): writer.value(subscription)
                case .success(.delete(let subscriptionID)):
                    writer.object { writer in
                        writer.member("subscriptionID", subscriptionID)
                        writer.member("deleted", true)
                    }
                case .failure(let error): writer.value(error, subscriptionID: operation.subscriptionID)
                }
            }
        }
    }

    private static func operation(_ object: RequestObject) throws -> SubscriptionOperation {
        let kind = try object.required("operationType", "a string", object.string("operationType"))
        let subscription = try object.required("subscription", "an object", object.object("subscription"))
        switch kind {
        case "create", "update": return .save(try Subscription(subscription, defaultID: Name(UUID().uuidString)))
        case "delete":
            return .delete(try subscription.required("subscriptionID", "a string", subscription.name("subscriptionID")))
        default:
            throw RecordError.unexpectedInput(
                "Unknown operationType '\(kind)' in '\(object.place)'; known are create, update, delete")
        }
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ error: RecordError, subscriptionID: Name) {
        object { writer in
            writer.member("subscriptionID", subscriptionID)
            writer.members(of: error)
        }
    }
}
