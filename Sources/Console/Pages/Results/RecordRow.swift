internal import Mustache

/// A record as a row of a table, with what it has in each column.
struct RecordRow<Cell: Sendable>: ViewModel {
    let href: String
    let recordName: String
    /// Names the record to what is done with those that are picked.
    let pick: String
    let cells: [Cell]

    func child(named name: String) -> Any? {
        switch name {
        case "href": href
        case "recordName": recordName
        case "pick": pick
        case "cells": cells
        default: nil
        }
    }
}
