internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges {
        try KeyValueRules.check(caller, in: address)
        return try store.read { state in
            let kept = state.keyValues[caller.userRecordName] ?? InMemoryState.KeyValueStore()
            let ordered = kept.changes.values.sorted { $0.position < $1.position }
            let feed = KeyValueRules.feed(
                of: state.users[caller.userRecordName] ?? 0, latest: ordered.last.map { ($0.position, $0.modified) },
                floor: kept.floor)
            let position = try token.map { try store.codec.content(of: $0, for: feed) { _ in false }.position }
            let changes = ordered.filter { change in position.map { change.position > $0 } ?? (change.value != nil) }
            return KeyValueChanges(
                changes, syncToken: store.codec.current(feed), usage: KeyValueModifier(kept.sizes).usage)
        }
    }

    func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage {
        try KeyValueRules.check(caller, in: address)
        let now = store.clock()
        return try store.write { state in
            _ = state.userNumber(caller.userRecordName)
            var kept = state.keyValues[caller.userRecordName] ?? InMemoryState.KeyValueStore()
            var modifier = KeyValueModifier(kept.sizes)
            for operation in try modifier.admit(operations) {
                let value: PropertyValue? = if case .set(_, let value) = operation { value } else { nil }
                kept.changes[operation.key] = KeyValueChange(
                    operation.key, value, modified: now, position: state.nextPosition())
            }
            let removed = kept.changes.values.filter { $0.value == nil }.sorted { $0.position > $1.position }
            if let forgotten = removed.dropFirst(KeyValueRules.removalsLimit).first {
                kept.changes = kept.changes.filter { $0.value.value != nil || $0.value.position > forgotten.position }
                kept.floor = forgotten.position
            }
            state.keyValues[caller.userRecordName] = kept
            return modifier.usage
        }
    }
}

extension InMemoryState.KeyValueStore {
    fileprivate var sizes: [Name: Int] { changes.compactMapValues { $0.value?.size } }
}
