public import JSON
internal import Records

extension JSONWriter {
    /// Writes a token explanation in the format of docs/feeds.md.
    public mutating func value(_ explanation: TokenExplanation) {
        object { writer in
            switch explanation.subject {
            case .database: writer.member("subject", "database")
            case .zone(let zoneID):
                writer.member("subject", "zone")
                if let zoneID {
                    writer.name("zoneID")
                    writer.value(zoneID)
                }
            }
            writer.member("database", explanation.scope.rawValue)
            if let name = explanation.userRecordName { writer.member("userRecordName", name) }
            writer.member("position", explanation.position)
            if let moment = explanation.moment { writer.member("timestamp", moment.milliseconds) }
            switch explanation.progress {
            case .complete: writer.member("progress", "complete")
            case .firstPull: writer.member("progress", "firstPull")
            case .reversePull: writer.member("progress", "reversePull")
            case .pull(let since):
                writer.member("progress", "pull")
                writer.member("since", since)
            }
            switch explanation.standing {
            case .good: writer.member("standing", "good")
            case .expired(let why):
                writer.member("standing", "expired")
                writer.member("why", why)
            case .foreign(let why):
                writer.member("standing", "foreign")
                writer.member("why", why)
            }
            if let count = explanation.changesAfter { writer.member("changesAfter", Int64(count)) }
        }
    }
}
