internal import JSON
internal import RecordStore
internal import Records

extension JSONWriter {
    /// All faults that can be injected, and the active ones.
    mutating func list(_ rehearsals: Rehearsals) {
        object { writer in
            writer.name("rehearsals")
            writer.array { writer in
                for rehearsal in Rehearsal.allCases {
                    writer.object { writer in
                        writer.member("name", rehearsal.rawValue)
                        writer.member("kind", rehearsal.kind.rawValue)
                        writer.member("title", rehearsal.title)
                        writer.member("effect", rehearsal.effect)
                        writer.member("advice", rehearsal.advice)
                    }
                }
            }
            writer.running(rehearsals)
        }
    }

    /// The member that lists the active faults.
    mutating func running(_ rehearsals: Rehearsals) {
        name("on")
        array { writer in
            for running in rehearsals.running { writer.value(running) }
        }
    }

    private mutating func value(_ running: RunningRehearsal) {
        object { writer in
            writer.member("rehearsal", running.rehearsal.rawValue)
            if let remaining = running.remaining { writer.member("count", Int64(remaining)) }
            if let container = running.area.container { writer.member("container", container.description) }
            if let environment = running.area.environment { writer.member("environment", environment.rawValue) }
            if let scope = running.area.scope { writer.member("database", scope.rawValue) }
            if let zoneID = running.area.zoneID {
                writer.member("zone", zoneID.zoneName)
                if let owner = zoneID.ownerRecordName { writer.member("owner", owner) }
            }
            writer.member("since", running.since.milliseconds)
        }
    }
}
