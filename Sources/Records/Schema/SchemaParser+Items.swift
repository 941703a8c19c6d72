// Parses the items between the parentheses of a record type.

extension SchemaParser {
    /// Parses a field or grant up to the following comma or parenthesis.
    mutating func readItem(of draft: inout RecordTypeDraft) throws(SchemaTextError) {
        if isWord("GRANT") {
            advance()
            try readGrant(of: &draft)
        } else {
            try readField(of: &draft)
        }
    }

    // MARK: Fields

    private mutating func readField(of draft: inout RecordTypeDraft) throws(SchemaTextError) {
        let place = token.range.lowerBound
        if token.kind == .comma { throw unexpected("a field or GRANT", hint: "there is an extra comma") }
        let name = try readName(of: .field)
        let typePlace = token.range.lowerBound
        let type = try readFieldType()
        let system = SystemField(rawValue: name.string)
        let declaredType = system?.type ?? (draft.name == Schema.usersType ? Schema.users.fields[name]?.type : nil)
        if let declaredType, declaredType != type {
            throw error(
                at: typePlace, expected: declaredType.schemaName, found: type.schemaName,
                problem: "the system field \(name) is \(declaredType.schemaName), not \(type.schemaName)")
        }
        let (indexes, idle) = try readIndexes(of: name, type, system)
        if let first = draft.places[name] { return fail { $0.twice("field", name, at: place, first: first) } }
        draft.places[name] = place
        if let system {
            if !indexes.isEmpty { draft.systemIndexes[system] = indexes }
        } else {
            draft.fields[name] = FieldDefinition(type: type, indexes: indexes, idleIndexes: idle)
        }
    }

    private mutating func readIndexes(
        of name: Name, _ type: FieldType, _ system: SystemField?
    ) throws(SchemaTextError) -> (used: Indexes, idle: Indexes) {
        let allowed = system?.allowedIndexes ?? type.allowedIndexes
        var indexes: Indexes = []
        var places: [(index: Indexes, place: Int)] = []
        while token.kind == .word, let index = Indexes(name: tokenText) {
            places.append((index, token.range.lowerBound))
            indexes.insert(index)
            advance()
        }
        if token.kind != .comma, token.kind != .closeParenthesis {
            throw unexpected("QUERYABLE, SORTABLE, SEARCHABLE, ',' or ')'", hint: hintAfterField())
        }
        for (index, place) in places where !allowed.contains(index) {
            let word = index.names.joined()
            if !allowed.union(type.possibleIdleIndexes).contains(index), !type.allowedIndexes.contains(index) {
                fail {
                    $0.error(
                        at: place, expected: "',' or ')'", found: "'\(word)'",
                        problem: "the field '\(name)' of type \(type.schemaName) can't be \(word): "
                            + (allowed.isEmpty
                                ? "it can't have an index" : "it can be \(allowed.names.joined(separator: ", "))"))
                }
            } else {
                let fate = system == nil ? "is kept only for exports" : "is left out"
                note("\(word) has no effect on the field \(name) of type \(type.schemaName) and \(fate)", at: place)
            }
        }
        return (indexes.intersection(allowed), indexes.subtracting(allowed))
    }

    private func hintAfterField() -> String? {
        guard token.kind == .word || token.kind == .quoted else { return nil }
        if let word = Spelling.guess(tokenText.uppercased(), among: Indexes.named.map(\.name)) {
            return "did you mean \(word)?"
        }
        return startsLine ? "a comma may be missing at the end of the field before" : nil
    }

    // MARK: Types

    private mutating func readFieldType() throws(SchemaTextError) -> FieldType {
        if isWord("LIST") {
            advance()
            return try readList()
        }
        if isWord("ENCRYPTED") {
            let place = token.range.lowerBound
            advance()
            if isWord("LIST") {
                note("Apple's tools write LIST<ENCRYPTED …>", at: place)
                advance()
                var type = try readList()
                guard type.canBeEncrypted else { throw notEncrypted(type, at: place) }
                type.isEncrypted = true
                return type
            }
            return try readEncrypted(at: place)
        }
        return try readScalar("a field type such as STRING, INT64 or LIST<STRING>")
    }

    private mutating func readList() throws(SchemaTextError) -> FieldType {
        try read(.less, expected: "'<'")
        var type: FieldType
        let place = token.range.lowerBound
        if isWord("ENCRYPTED") {
            advance()
            type = try readEncrypted(at: place)
        } else if isWord("LIST") {
            throw unexpected("the type of the list's elements", hint: "there are no lists of lists")
        } else {
            type = try readScalar("the type of the list's elements")
        }
        try read(.greater, expected: "'>'")
        type.isList = true
        return type
    }

    private mutating func readEncrypted(at place: Int) throws(SchemaTextError) -> FieldType {
        var type = try readScalar("BYTES, STRING, DOUBLE, INT64, LOCATION or TIMESTAMP")
        guard type.canBeEncrypted else { throw notEncrypted(type, at: place) }
        type.isEncrypted = true
        return type
    }

    private func notEncrypted(_ type: FieldType, at place: Int) -> SchemaTextError {
        error(
            at: place, expected: "a type that can be encrypted", found: "ENCRYPTED \(type.schemaName)",
            problem: "\(type.schemaName) can't be ENCRYPTED; BYTES, STRING, DOUBLE, INT64, LOCATION and TIMESTAMP can")
    }

    private mutating func readScalar(_ expected: String) throws(SchemaTextError) -> FieldType {
        guard token.kind == .word else { throw unexpected(expected) }
        let word = tokenText
        if let valueType = ValueType(rawValue: word.uppercased()) {
            advance()
            return FieldType(valueType)
        }
        guard isWord("NUMBER") else { throw unexpected(expected, hint: Spelling.hint(forType: word)) }
        advance()
        guard isWord("PREFERRED") else { return FieldType(.double, number: NumberPreference.none) }
        advance()
        try read("AS", expected: "AS")
        if isWord("INT64") {
            advance()
            return FieldType(.int64, number: .int64)
        }
        try read("DOUBLE", expected: "INT64 or DOUBLE")
        return FieldType(.double, number: .double)
    }

    // MARK: Grants

    private mutating func readGrant(of draft: inout RecordTypeDraft) throws(SchemaTextError) {
        var permissions: Set<Grant.Permission> = []
        while true {
            guard token.kind == .word, let permission = Grant.Permission(rawValue: tokenText.uppercased()) else {
                let guess =
                    token.kind == .word
                    ? Spelling.guess(tokenText.uppercased(), among: Grant.Permission.allCases.map(\.rawValue)) : nil
                throw unexpected("READ, CREATE or WRITE", hint: guess.map { "did you mean \($0)?" })
            }
            permissions.insert(permission)
            advance()
            guard token.kind == .comma else { break }
            advance()
        }
        try read("TO", expected: "',' or TO")
        let place = token.range.lowerBound
        let role = try readName(of: .role)
        noteGrant(to: role, at: place)
        draft.grants.append(Grant(role: role, permissions: permissions))
        if token.kind != .comma, token.kind != .closeParenthesis {
            throw unexpected(
                "',' or ')'", hint: startsLine ? "a comma may be missing at the end of the line before" : nil)
        }
    }
}
