internal import Records

// GRDB and Foundation have types with the same names.
typealias RecordError = Records.RecordError
typealias Comparator = Records.Comparator
