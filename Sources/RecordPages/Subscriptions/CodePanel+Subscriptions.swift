internal import Console
internal import Records

extension CodePanel {
    /// The save of a subscription.
    /// - Parameter type: the type of its query.
    init(saving subscription: Subscription, type: RecordType?, visit: Visit) {
        let writer = CodeWriter(
            visit.place, zoneID: subscription.zoneID == nil ? nil : visit.place.zoneID, server: visit.server)
        let swift = SwiftSubscriptionCode(subscription, type: type, writer: writer)
        let subject = "The save of the subscription"
        let json = Self.json(of: subscription, type: type, writer: writer)
        let operation = JSONValue.object(
            JSONObject([
                JSONObject.Member(name: "operationType", value: .string("create")),
                JSONObject.Member(name: "subscription", value: json),
            ]))
        self.init(
            title: "This subscription as code",
            samples: [
                CodeSample("Swift, async", of: subject, text: swift.text),
                CodeSample("Swift, CKModifySubscriptionsOperation", of: subject, text: swift.operationText),
                writer.javaScript(
                    of: subject,
                    """
                    const subscription = \(RecordJSON.laidOut(json))
                    const response = await database.saveSubscriptions([subscription])
                    if (response.hasErrors) throw response.errors[0]
                    // Takes notifications for this page, and polls for them.
                    await CloudKit.getDefaultContainer().registerForNotifications()
                    """),
                writer.command(
                    "subscriptions/modify", [JSONObject.Member(name: "operations", value: .array([operation]))],
                    of: subject),
            ])
    }

    private static func json(of subscription: Subscription, type: RecordType?, writer: CodeWriter) -> JSONValue {
        var json = JSONWriter()
        json.value(subscription)
        // The writer's own output always parses.
        guard case .object(var object)? = try? JSONReader.value(of: json.bytes) else { return nil }
        if case .query(let subject) = subscription.subject {
            object["query"] = QueryCode.json(subject.query, type: type)
        }
        if subscription.zoneID != nil { object["zoneID"] = writer.zoneValue }
        return .object(object)
    }
}

/// A subscription in Swift (Apple's reference pages CKQuerySubscription, CKRecordZoneSubscription and
/// CKDatabaseSubscription).
struct SwiftSubscriptionCode {
    let text: String
    let operationText: String

    init(_ subscription: Subscription, type: RecordType?, writer: CodeWriter) {
        let id = "subscriptionID: \(CodeWriter.quoted(subscription.subscriptionID.string))"
        var (imports, warnings, lines) = (["CloudKit"], [String](), [String]())
        switch subscription.subject {
        case .query(let subject):
            let predicate = SwiftQueryCode.predicate(subject.query, type: type, isZoned: writer.isZoned)
            (imports, warnings) = (predicate.imports, predicate.warnings)
            lines =
                predicate.lines + [
                    "let subscription = CKQuerySubscription(",
                    "    recordType: \(CodeWriter.quoted(subject.query.recordType.string)), predicate: predicate,",
                    "    \(id), options: [\(Self.options(subject).joined(separator: ", "))])",
                ]
            if writer.isZoned {
                lines.append("subscription.zoneID = zoneID")
            } else if subject.zoneID != nil {
                lines.append("subscription.zoneID = .default")
            }
        case .zone(_, let recordType):
            lines = ["let subscription = CKRecordZoneSubscription(zoneID: zoneID, \(id))"] + Self.typeLines(recordType)
        case .database(let recordType):
            lines = ["let subscription = CKDatabaseSubscription(\(id))"] + Self.typeLines(recordType)
        }
        if let info = subscription.notificationInfo {
            lines += Self.lines(of: info)
        } else {
            warnings.append("CloudKit.framework refuses a subscription without notificationInfo")
        }
        let head = writer.swiftHead(imports: imports, warnings: warnings) + lines
        text = (head + ["let saved = try await database.save(subscription)", "print(saved.subscriptionID)"]).joined(
            separator: "\n")
        operationText =
            (head + [
                "let operation = CKModifySubscriptionsOperation(subscriptionsToSave: [subscription])",
                "operation.perSubscriptionSaveBlock = { subscriptionID, result in print(subscriptionID, result) }",
                "operation.modifySubscriptionsResultBlock = { result in",
                "    if case .failure(let error) = result { print(error) }",
                "}",
                "database.add(operation)",
            ]).joined(separator: "\n")
    }

    private static func options(_ subject: Subscription.RecordSubject) -> [String] {
        Subscription.Event.allCases.filter(subject.firesOn.contains).map { event in
            switch event {
            case .create: ".firesOnRecordCreation"
            case .update: ".firesOnRecordUpdate"
            case .delete: ".firesOnRecordDeletion"
            }
        } + (subject.firesOnce ? [".firesOnce"] : [])
    }

    private static func typeLines(_ recordType: Name?) -> [String] {
        recordType.map { ["subscription.recordType = \(CodeWriter.quoted($0.string))"] } ?? []
    }

    private static func lines(of info: NotificationInfo) -> [String] {
        var lines = ["let info = CKSubscription.NotificationInfo()"]
        for part in NotificationInfo.texts {
            if let text = info[keyPath: part.path] { lines.append("info.\(part.name) = \(CodeWriter.quoted(text))") }
        }
        for part in NotificationInfo.lists where !info[keyPath: part.path].isEmpty {
            // The framework has another name for the same list.
            let name: Name = part.name == "additionalFields" ? "desiredKeys" : part.name
            lines.append("info.\(name) = \(CodeWriter.swiftList(info[keyPath: part.path]))")
        }
        for part in NotificationInfo.switches where info[keyPath: part.path] {
            lines.append("info.\(part.name) = true")
        }
        return lines + ["subscription.notificationInfo = info"]
    }
}
