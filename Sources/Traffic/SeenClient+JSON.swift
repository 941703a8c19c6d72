public import JSON
internal import Records

// The JSON of clients in `/skylight/1/clients` (docs/requests.md).

extension JSONWriter {
    public mutating func value(_ client: SeenClient) {
        object { writer in
            writer.name("client")
            writer.value(client.identity)
            writer.optional("userRecordName", client.userRecordName?.string)
            writer.member("container", client.address.container.description)
            writer.member("environment", client.address.environment.rawValue)
            writer.member("database", client.address.scope.rawValue)
            writer.member("firstSeen", client.firstSeen.milliseconds)
            writer.member("lastSeen", client.lastSeen.milliseconds)
            writer.member("requests", Int64(client.requestCount))
            writer.member("failures", Int64(client.failureCount))
            writer.member("lastFailure", client.lastFailure)
            writer.value(client.warnings)
            writer.array("feeds", client.feeds) { $0.value($1) }
        }
    }

    private mutating func value(_ feed: ClientFeed) {
        object { writer in
            if let zoneID = feed.zoneID {
                writer.name("zoneID")
                writer.value(zoneID)
            }
            writer.member("pulls", Int64(feed.pullCount))
            writer.member("changes", Int64(feed.changes))
            writer.member("lastPulled", feed.lastPulled.milliseconds)
            writer.optional("sent", feed.lastSent?.text)
            writer.optional("given", feed.lastGiven?.text)
            writer.member("moreComing", feed.moreComing)
            writer.member("lastFailure", feed.lastError)
            writer.value(feed.warnings)
            writer.array("requests", feed.deliveries) { $0.value($1.requestID) }
        }
    }

    private mutating func member(_ name: Name, _ failure: SeenClient.Failure?) {
        guard let failure else { return }
        self.name(name)
        object { writer in
            writer.optional("name", failure.error.name?.string)
            writer.member("serverErrorCode", failure.error.code.rawValue)
            writer.member("reason", failure.error.reason)
            writer.member("request", failure.requestID)
            writer.member("timestamp", failure.time.milliseconds)
        }
    }

    /// The member with the warnings.
    private mutating func value(_ warnings: [RequestWarning: SeenClient.WarningCount]) {
        array("warnings", RequestWarning.allCases.filter { warnings[$0] != nil }) { writer, warning in
            writer.object { writer in
                writer.member("warning", warning.rawValue)
                writer.member("sentence", warning.sentence)
                writer.member("reference", warning.reference)
                guard let count = warnings[warning] else { return }
                writer.member("count", Int64(count.count))
                writer.member("request", count.requestID)
                writer.member("timestamp", count.time.milliseconds)
            }
        }
    }
}
