internal import JSON
internal import RecordStore
internal import Records

extension JSONWriter {
    /// All faults that can be injected, and the active ones.
    mutating func list(_ faults: FaultInjection) {
        object { writer in
            writer.name("rehearsals")
            writer.array { writer in
                for fault in InjectedFault.allCases {
                    writer.object { writer in
                        writer.member("name", fault.rawValue)
                        writer.member("kind", fault.kind.rawValue)
                        writer.member("title", fault.title)
                        writer.member("effect", fault.effect)
                        writer.member("advice", fault.advice)
                    }
                }
            }
            writer.running(faults)
        }
    }

    /// The member that lists the active faults.
    mutating func running(_ faults: FaultInjection) {
        name("on")
        array { writer in
            for running in faults.running { writer.value(running) }
        }
    }

    private mutating func value(_ running: ActiveFault) {
        object { writer in
            writer.member("rehearsal", running.fault.rawValue)
            if let remaining = running.remaining { writer.member("count", Int64(remaining)) }
            if let items = running.items {
                writer.member("every", Int64(items.every))
                writer.member("code", items.code.rawValue)
            }
            if let container = running.area.container { writer.member("container", container.description) }
            if let environment = running.area.environment { writer.member("environment", environment.rawValue) }
            if let scope = running.area.scope { writer.member("database", scope.rawValue) }
            if let zoneID = running.area.zoneID {
                writer.member("zone", zoneID.zoneName)
                if let owner = zoneID.ownerRecordName { writer.member("owner", owner) }
            }
            if let user = running.area.user { writer.member("user", user) }
            writer.member("since", running.since.milliseconds)
        }
    }
}
