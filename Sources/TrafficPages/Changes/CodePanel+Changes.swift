internal import Console
internal import JSON
internal import Records

/// Pulls of changes, as code.
extension CodePanel {
    /// A pull of a zone's changes.
    init(changesOf zoneID: ZoneID, form: RecordFeedForm, visit: Visit) {
        let writer = CodeWriter(visit.place, zoneID: zoneID)
        let keys: [Name]? = form.returnsSystemFieldsOnly ? [] : nil
        let swift = SwiftChangesCode(form, keys: keys, writer: writer)
        let subject = "The pull"
        var zone = [JSONObject.Member(name: "zoneID", value: writer.zoneValue)]
        if let token = form.since { zone.append(JSONObject.Member(name: "syncToken", value: .string(token.text))) }
        zone += CodeWriter.keyMembers(keys)
        if let type = form.type { zone.append(JSONObject.Member(name: "desiredRecordTypes", value: .array([.string(type.string)]))) }
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
                    "changes/zone", [JSONObject.Member(name: "zones", value: .array([.object(JSONObject(zone))]))], of: subject),
            ])
    }

    /// A pull of the changed zones.
    init(zoneChangesSince token: ChangeToken?, visit: Visit) {
        let writer = CodeWriter(visit.place, zoneID: nil)
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
