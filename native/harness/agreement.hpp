// Agreement of all ranks on whether an action succeeded, and on the error message to report.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace assay {

using Complaint = std::optional<std::string>;

// Collective. Nothing if no rank complains; otherwise, on every rank, the complaint of the lowest
// rank, prefixed with "rank R: " unless all ranks complain.
Complaint agree(MPI_Comm comm, const Complaint& mine);

// The message of the caught exception; to be called inside a catch block.
std::string exception_message();

// Broadcasts a string of any length.
void broadcast(MPI_Comm comm, int root, std::string& text);

// Every rank's text in the order of ranks, on rank 0; nothing elsewhere.
std::vector<std::string> gather_texts(MPI_Comm comm, const std::string& mine);

}  // namespace assay
