internal import JSON
internal import Records
internal import RecordStore

/// How columns become fields: a name that can't be a field's is made into one that can, and the import says so.
enum FieldNaming {
    /// The field name for a column: letters, digits and _ are kept, everything else becomes _; a name that would not start with a letter gets
    /// an `f` before it.
    /// - Throws: `ImportError` when nothing usable remains, or the name is one that every record has.
    static func fieldName(for column: Name) throws(ImportError) -> Name {
        if let field = SystemField(named: column) {
            let remedy =
                field == .recordID
                ? "to take record names from it give --name-field \(column), else rename the column" : "rename the column, since the server sets that field itself"
            throw .invalid("The column '\(column)' has the name of a system field; \(remedy)")
        }
        // What is wrong with a name is mended here; one that can't be has an error of its own.
        if (try? NameRules.checkFieldName(column)) != nil { return column }
        var kept = ""
        for scalar in column.string.unicodeScalars {
            let isKept = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isKept { kept.unicodeScalars.append(scalar) } else if kept.last != "_" { kept += "_" }
        }
        while kept.last == "_" { kept.removeLast() }
        if !kept.contains(where: { $0 != "_" }) {
            throw .invalid("The column '\(column)' can't name a field: field names are letters, digits and _; rename it")
        }
        if kept.first?.isLetter != true { kept = "f" + (kept.hasPrefix("_") ? "" : "_") + kept }
        let name = Name(String(kept.prefix(Field.nameLimit)))
        if (try? NameRules.checkFieldName(name)) == nil || SystemField(named: name) != nil {
            throw .invalid("The column '\(column)' can't name a field; rename it")
        }
        return name
    }
}
