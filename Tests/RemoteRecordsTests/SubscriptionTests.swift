import CloudKitClient
import LoopbackServing
import Records
import Testing

@testable import RemoteRecords

/// Subscriptions: what is sent, and what comes back.
@Suite struct SubscriptionTests {
    @Test func subscriptionsAreSavedAndDeletedInOrder() async throws {
        let missing = #"{"subscriptionID":"old","serverErrorCode":"NOT_FOUND","reason":"none"}"#
        try await withAnswers(.json(#"{"subscriptions":[{"subscriptionID":"new"},\#(missing)]}"#)) {
            container, server in
            let subscription = Subscription("new", to: .zone(zone, recordType: nil))
            let callbacks = CallbackLog()
            try await container.privateCloudDatabase.perform(
                ModifySubscriptions(saving: [subscription], deleting: ["old"])
            ) { event in
                switch event {
                case .saved(let name, let result):
                    callbacks.note("saved \(name) \((try? result.get()) == subscription)")
                case .deleted(let name, let result): callbacks.note("deleted \(name) \((try? result.get()) != nil)")
                }
            }
            // One that is gone already is deleted.
            #expect(callbacks.all == ["saved new true", "deleted old true"] && server.requests.count == 1)
            let operations = try JSONReader.value(of: server.requests[0].body).object.objects("operations")
            #expect(
                operations.map { $0["operationType"] } == ["create", "delete"]
                    && server.requests[0].path.hasSuffix("/private/subscriptions/modify"))
        }
    }

    @Test func aLostAnswerIsAskedForAgain() async throws {
        try await withAnswers(.close, .json(#"{"subscriptions":[{"subscriptionID":"s"}]}"#)) { container, server in
            try await container.privateCloudDatabase.save(Subscription("s", to: .database(recordType: nil)))
            #expect(server.requests.count == 2 && server.requests[0].body == server.requests[1].body)
        }
    }

    @Test func subscriptionsAreFetched() async throws {
        let one =
            #"{"subscriptionID":"s","subscriptionType":"zone","zoneID":{"zoneName":"Items","ownerRecordName":"_a"}}"#
        let missing = #"{"subscriptionID":"none","serverErrorCode":"NOT_FOUND","reason":"none"}"#
        try await withScript({ request, _ in
            .json(
                request.path.hasSuffix("list")
                    ? #"{"subscriptions":[\#(one)]}"#
                    : #"{"subscriptions":[\#(request.body.contains("none") ? missing : one)]}"#)
        }) { container, _ in
            let database = container.privateCloudDatabase
            // Zones are named as the app names them, without the owner that the server adds.
            let expected = Subscription("s", to: .zone(zone, recordType: nil))
            let all = try await database.allSubscriptions()
            let found = try await database.subscription(for: "s")
            #expect(all == [expected] && found == expected)
            let byID = try await database.subscriptions(for: ["s"])
            #expect(try byID["s"]?.get() == expected && byID.count == 1)
            #expect(await operationError { _ = try await database.subscription(for: "none") }?.code == .unknownItem)
        }
    }

    /// An ID is made for a subscription without one. Errors of single ones are no errors of the call.
    @Test func subscriptionsAreModifiedTogether() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                let good = Subscription(to: .database(recordType: nil))
                let bad = Subscription(to: .zone(ZoneID(zoneName: "None"), recordType: nil))
                let results = try await database.modifySubscriptions(saving: [good, bad], deleting: ["none"])
                #expect(try results.saveResults[good.subscriptionID]?.get() == good)
                #expect(throws: OperationError.self) { try results.saveResults[bad.subscriptionID]?.get() }
                try results.deleteResults["none"]?.get()
                #expect(results.saveResults.count == 2 && results.deleteResults.count == 1)
                #expect(try await database.allSubscriptions() == [good])
            }
        }
    }

    @Test func aRefusedSubscriptionIsAnError() async throws {
        let refused =
            #"{"subscriptionID":"s","serverErrorCode":"INTERNAL_ERROR","reason":"could not find subscription we just created"}"#
        try await withAnswers(.json(#"{"subscriptions":[\#(refused)]}"#)) { container, _ in
            let operation = ModifySubscriptions(saving: [Subscription("s", to: .database(recordType: nil))])
            let error = await operationError { try await container.privateCloudDatabase.perform(operation) }
            #expect(error?.code == .partialFailure && error?.partialErrors[.subscription("s")]?.code == .internalError)
        }
    }
}
