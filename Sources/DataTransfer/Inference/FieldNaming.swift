internal import JSON
internal import Records
internal import RecordStore

/// Derives field names from column names. The import reports columns that had to be renamed.
enum FieldNaming {
    /// The field name of a column: keeps ASCII letters and digits, and replaces each run of
    /// other characters by _. A name that does not start with a letter gets the prefix `f`.
    /// - Throws: `ImportError` if nothing usable remains, or the name is that of a system field.
    static func fieldName(for column: Name) throws(ImportError) -> Name {
        if SystemField(named: column) != nil {
            throw .invalid("The column '\(column)' has the name of a system field: rename the column, because the server sets this field")
        }
        // The code below repairs invalid names, so the error is ignored. A name that can't be repaired gets its own error.
        if (try? NameRules.checkFieldName(column)) != nil { return column }
        var kept = ""
        for scalar in column.string.unicodeScalars {
            let isKept = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isKept { kept.unicodeScalars.append(scalar) } else if kept.last != "_" { kept += "_" }
        }
        while kept.last == "_" { kept.removeLast() }
        if !kept.contains(where: { $0 != "_" }) {
            throw .invalid("The column '\(column)' can't be a field name: field names have letters, digits and _; rename it")
        }
        if kept.first?.isLetter != true { kept = "f" + (kept.hasPrefix("_") ? "" : "_") + kept }
        let name = Name(String(kept.prefix(Field.nameLimit)))
        if (try? NameRules.checkFieldName(name)) == nil || SystemField(named: name) != nil {
            throw .invalid("The column '\(column)' can't be a field name; rename it")
        }
        return name
    }
}
