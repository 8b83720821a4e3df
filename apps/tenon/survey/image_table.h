// Images in one folder whose classes a table has, as in the contest Plant Pathology 2020: train.csv with image_id and a column of 0 and 1
// for each class, test.csv with image_id alone, and images/ID.jpg (or .jpeg, .png, .webp).
#pragma once

#include <string>
#include <vector>

#include "survey/data_sets.h"

namespace tenon::runner {

// "train" and, where there is a test.csv, "test", whose images have no classes. Empty: the directory is no such one. Images that are not
// there are listed all the same. Throws Error where a row is not of one class.
std::vector<DataSet> find_image_tables(const std::string& directory);

}  // namespace tenon::runner
