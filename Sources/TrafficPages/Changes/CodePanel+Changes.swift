internal import Console
internal import RecordStore
internal import Records

/// Pulls of changes, as code.
extension CodePanel {
    /// A pull of a zone's changes.
    init(changesOf zoneID: ZoneID, form: RecordFeedForm, visit: Visit) {
        let writer = CodeWriter(visit.place, zoneID: zoneID, server: visit.server)
        let keys = form.keys.names
        let swift = SwiftChangesCode(form, keys: keys, writer: writer)
        let subject = "The pull"
        var zone = [JSONObject.Member(name: "zoneID", value: writer.zoneValue)]
        if let token = form.since { zone.append(JSONObject.Member(name: "syncToken", value: .string(token.text))) }
        zone += CodeWriter.keyMembers(keys)
        if let type = form.type {
            zone.append(JSONObject.Member(name: "desiredRecordTypes", value: .array([.string(type.string)])))
        }
        let options = RecordJSON.laidOut(.object(JSONObject(zone)))
        // CloudKit JS documents neither a limit nor an order.
        zone.append(JSONObject.Member(name: "resultsLimit", value: .integer(Int64(form.limit))))
        if form.isReverse { zone.append(JSONObject.Member(name: "reverse", value: true)) }
        self.init(
            title: "These changes as code",
            samples: [
                CodeSample("Swift, async", of: subject, text: swift.text),
                CodeSample("Swift, CKFetchRecordZoneChangesOperation", of: subject, text: swift.operationText),
                writer.javaScript(
                    of: subject,
                    """
                    const response = await database.fetchRecordZoneChanges(\(options))
                    if (response.hasErrors) throw response.errors[0]
                    for (const zone of response.zones) {
                      if (zone.serverErrorCode) throw zone
                      for (const record of zone.records) console.log(record.recordName, record.deleted ? "deleted" : record.fields)
                      // Keep the token for the next pull. While moreComing is true, fetch again with it.
                      console.log(zone.syncToken, zone.moreComing)
                    }
                    """),
                writer.command(
                    "changes/zone", [JSONObject.Member(name: "zones", value: .array([.object(JSONObject(zone))]))],
                    of: subject),
            ])
    }

    /// The next pull of a client that has a token; `nil` if the zone is not known.
    init?(pullWith text: String, of subject: TokenExplanation.Subject, visit: Visit) {
        let panel: CodePanel
        switch subject {
        case .database: panel = CodePanel(zoneChangesSince: ChangeToken(text: text), visit: visit)
        case .zone(let zoneID?):
            let form = RecordFeedForm(FormFields([("since", "1"), ("token", text)]))
            panel = CodePanel(changesOf: zoneID, form: form, visit: visit.inZone(zoneID))
        case .zone(nil): return nil
        }
        self.init(title: "Continue with it", samples: panel.samples)
    }

    /// A pull of the changed zones.
    init(zoneChangesSince token: ChangeToken?, visit: Visit) {
        let writer = CodeWriter(visit.place, zoneID: nil, server: visit.server)
        let swift = SwiftChangesCode(databaseSince: token, writer: writer)
        let subject = "The pull"
        let body = token.map { [JSONObject.Member(name: "syncToken", value: .string($0.text))] } ?? []
        self.init(
            title: "These changes as code",
            samples: [
                CodeSample("Swift, async", of: subject, text: swift.text),
                CodeSample("Swift, CKFetchDatabaseChangesOperation", of: subject, text: swift.operationText),
                writer.javaScript(
                    of: subject,
                    """
                    const response = await database.fetchDatabaseChanges(\(body.isEmpty ? "" : RecordJSON.laidOut(.object(JSONObject(body)))))
                    if (response.hasErrors) throw response.errors[0]
                    for (const zone of response.zones) console.log(zone.zoneID.zoneName, zone.deleted ? "deleted" : "changed")
                    // Keep the token for the next pull. While moreComing is true, fetch again with it.
                    console.log(response.syncToken, response.moreComing)
                    """),
                writer.command("changes/database", body, of: subject),
            ])
    }
}

// MARK: - Pulls in Swift

/// A pull of changes in Swift (Apple's reference pages CKDatabase, CKFetchRecordZoneChangesOperation and
/// CKFetchDatabaseChangesOperation).
///
/// A CKServerChangeToken can't be created from a web services token: an app uses the token that it archived.
struct SwiftChangesCode {
    let text: String
    let operationText: String

    private static func tokenLines(isSince: Bool) -> [String] {
        isSince
            ? [
                "// The token that the app archived after its last pull. Tokens of the web services don't work here.",
                "let token: CKServerChangeToken? = nil",
            ] : ["let token: CKServerChangeToken? = nil"]
    }

    /// A pull of the records of a zone.
    init(_ form: RecordFeedForm, keys: [Name]?, writer: CodeWriter) {
        var warnings: [String] = []
        if form.type != nil { warnings.append("CloudKit.framework pulls all types of a zone: ignore the other types") }
        if form.isReverse { warnings.append("CloudKit.framework pulls only oldest first") }
        let head = writer.swiftHead(warnings: warnings) + Self.tokenLines(isSince: form.since != nil)
        let asked = keys.map { ", desiredKeys: \(CodeWriter.swiftList($0))" } ?? ""
        text =
            (head + [
                "let changes = try await database.recordZoneChanges(",
                "    inZoneWith: zoneID, since: token\(asked), resultsLimit: \(form.limit))",
                "for (recordID, result) in changes.modificationResultsByID {",
                "    print(recordID.recordName, try result.get().record)",
                "}",
                "for deletion in changes.deletions { print(\"deleted\", deletion.recordID.recordName) }",
                "// Archive the token for the next pull. While moreComing is true, fetch again with it.",
                "let newToken = try NSKeyedArchiver.archivedData(withRootObject: changes.changeToken, requiringSecureCoding: true)",
                "print(newToken.count, changes.moreComing)",
            ]).joined(separator: "\n")
        operationText =
            (head + [
                "let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()",
                "configuration.previousServerChangeToken = token",
                "configuration.resultsLimit = \(form.limit)",
            ] + (keys.map { ["configuration.desiredKeys = \(CodeWriter.swiftList($0))"] } ?? []) + [
                "let operation = CKFetchRecordZoneChangesOperation(",
                "    recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration])",
                "// Otherwise the operation fetches all pages.",
                "operation.fetchAllChanges = false",
                "operation.recordWasChangedBlock = { recordID, result in print(recordID.recordName, result) }",
                "operation.recordWithIDWasDeletedBlock = { recordID, recordType in print(\"deleted\", recordID.recordName, recordType) }",
                "operation.recordZoneFetchResultBlock = { zoneID, result in",
                "    switch result {",
                "    // Archive the token for the next pull. While moreComing is true, fetch again with it.",
                "    case .success(let (newToken, _, moreComing)): print(newToken, moreComing)",
                "    case .failure(let error): print(zoneID.zoneName, error)",
                "    }",
                "}",
                "operation.fetchRecordZoneChangesResultBlock = { result in",
                "    if case .failure(let error) = result { print(error) }",
                "}",
                "database.add(operation)",
            ]).joined(separator: "\n")
    }

    /// A pull of the changed zones of a database.
    init(databaseSince token: ChangeToken?, writer: CodeWriter) {
        let head = writer.swiftHead() + Self.tokenLines(isSince: token != nil)
        text =
            (head + [
                "let changes = try await database.databaseChanges(since: token)",
                "for zone in changes.modifications { print(\"changed\", zone.zoneID.zoneName) }",
                "for zone in changes.deletions { print(\"deleted\", zone.zoneID.zoneName) }",
                "// Archive the token for the next pull. While moreComing is true, fetch again with it.",
                "let newToken = try NSKeyedArchiver.archivedData(withRootObject: changes.changeToken, requiringSecureCoding: true)",
                "print(newToken.count, changes.moreComing)",
            ]).joined(separator: "\n")
        operationText =
            (head + [
                "let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)",
                "// Otherwise the operation fetches all pages.",
                "operation.fetchAllChanges = false",
                "operation.recordZoneWithIDChangedBlock = { print(\"changed\", $0.zoneName) }",
                "operation.recordZoneWithIDWasDeletedBlock = { print(\"deleted\", $0.zoneName) }",
                "operation.recordZoneWithIDWasPurgedBlock = { print(\"purged\", $0.zoneName) }",
                "operation.fetchDatabaseChangesResultBlock = { result in",
                "    switch result {",
                "    // Archive the token for the next pull. While moreComing is true, fetch again with it.",
                "    case .success(let (newToken, moreComing)): print(newToken, moreComing)",
                "    case .failure(let error): print(error)",
                "    }",
                "}",
                "database.add(operation)",
            ]).joined(separator: "\n")
    }
}
